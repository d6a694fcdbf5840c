// The max-statistic permutation test: its p against counting, and how often it errs.
#include "debias/audit/permutation_test.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "debias/core/philox.h"

namespace debias {
namespace permutation_test_test {

LabelledRows labelled(int64_t rows, double small_class, uint64_t seed) {
  Random random({.seed = seed});
  LabelledRows made{{}, 2, folds_of(rows)};
  for (int64_t i = 0; i < rows; ++i) made.labels.push_back(random.uniform() < small_class ? 1 : 0);
  return made;
}

CategoryFeatures noise(int64_t rows, uint64_t seed, uint64_t candidate) {
  Random random({.seed = seed, .sample = candidate + 1});
  CategoryFeatures features{{}, 3};
  for (int64_t i = 0; i < rows; ++i) features.values.push_back(static_cast<int32_t>(random.below(3)));
  return features;
}

TEST(PermutationTest, AdjustedPCountsThePermutationsWhoseBestReachesTheAccuracy) {
  const LabelledRows rows = labelled(200, 0.5, 1);
  const PermutationTest test = permutation_test(
      7, [](int64_t j) { return noise(200, 1, static_cast<uint64_t>(j)); }, rows, 5);
  ASSERT_EQ(test.null_best.size(), static_cast<size_t>(kPermutations));
  for (size_t j = 0; j < 7; ++j) {
    EXPECT_EQ(test.accuracy[j], balanced_accuracy(noise(200, 1, j), rows.folds, rows.labels, 2));
    double reaching = 0;
    for (const double best : test.null_best) reaching += best >= test.accuracy[j] ? 1 : 0;
    EXPECT_DOUBLE_EQ(test.p_adjusted[j], (1 + reaching) / 201);
  }
}

TEST(PermutationTest, FindsAValueThatGoesWithTheClassAmongNoise) {
  const LabelledRows rows = labelled(200, 0.3, 2);
  const auto features = [&](int64_t j) -> CandidateFeatures {
    CategoryFeatures own = noise(200, 2, static_cast<uint64_t>(j));
    if (j == 3) {
      for (size_t i = 0; i < own.values.size(); ++i) own.values[i] = i % 10 == 0 ? 2 : rows.labels[i];
    }
    return own;
  };
  const PermutationTest test = permutation_test(5, features, rows, 0);
  EXPECT_DOUBLE_EQ(test.p_adjusted[3], 1.0 / 201);
  EXPECT_GT(test.p_adjusted[0], 0.05);
}

TEST(PermutationTest, TheBoundOfChanceIsThatOfTheCandidatesThatCount) {
  const LabelledRows rows = labelled(200, 0.5, 1);
  const auto features = [](int64_t j) { return noise(200, 1, static_cast<uint64_t>(j)); };
  const PermutationTest few = permutation_test(3, features, rows, 5), all = permutation_test(40, features, rows, 5);
  const double bound = few.chance_bound([](size_t) { return true; });
  EXPECT_EQ(bound, few.null_best[190]);
  EXPECT_EQ(all.chance_bound([](size_t j) { return j < 3; }), bound);
  EXPECT_GT(all.chance_bound([](size_t) { return true; }), bound);
}

// Binomial(60, 0.05): more than 8 has a probability below 0.5 %.
TEST(PermutationTest, RaisesAFalseAlarmInOneOfTwentyAuditsOfNoiseAlsoForUnevenClasses) {
  int alarms = 0;
  for (uint64_t audit = 0; audit < 60; ++audit) {
    const LabelledRows rows = labelled(120, audit % 2 == 0 ? 0.5 : 0.2, 100 + audit);
    const PermutationTest test = permutation_test(
        10, [&](int64_t j) { return noise(120, 100 + audit, static_cast<uint64_t>(j)); }, rows, audit);
    alarms += *std::min_element(test.p_adjusted.begin(), test.p_adjusted.end()) <= 0.05 ? 1 : 0;
  }
  EXPECT_LE(alarms, 8);
}

}  // namespace permutation_test_test
}  // namespace debias
