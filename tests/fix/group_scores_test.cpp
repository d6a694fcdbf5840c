#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "debias/core/philox.h"
#include "debias/data/sample_table.h"
#include "debias/fix/cross_validation.h"
#include "debias/fix/group_scores.h"

namespace debias {
namespace group_scores_test {

TEST(GroupScorer, ScoresSmallGroupsTogether) {
  std::vector<int64_t> groups(10, 0), labels(10, 0), predictions(10, 0);  // group 0: 8 of 10 right
  predictions[0] = predictions[1] = 1;
  for (int i = 0; i < 4; ++i) groups.push_back(1);  // groups 1 and 2, of 4 and 2 rows, conflict: 3 of 6 right
  for (int i = 0; i < 2; ++i) groups.push_back(2);
  for (const int64_t right : {1, 1, 0, 0, 0, 1}) {
    labels.push_back(1);
    predictions.push_back(right);
  }
  groups.push_back(kUnknown);  // not scored
  labels.push_back(0);
  predictions.push_back(1);
  const GroupScorer scorer(groups, {false, true, true, true});
  const GroupScores scores = scorer.scores(labels, predictions);
  EXPECT_DOUBLE_EQ(scores.worst, 0.5);
  EXPECT_DOUBLE_EQ(scores.mean, (0.8 + 2 * 0.5) / 3);
  EXPECT_DOUBLE_EQ(scores.conflicting, 0.5);
  EXPECT_EQ(scorer.conflicting_rows(), 6);
}

TEST(GroupScorer, ComparesPairsOnConflictingRowsAlone) {
  const std::vector<int64_t> groups = {0, 0, 0, 1, 1, 1, 1, 1, 1}, labels(9, 0);
  const std::vector<int64_t> better = {0, 0, 0, 0, 0, 0, 0, 0, 1}, worse = {1, 1, 1, 1, 1, 1, 1, 0, 0};
  const GroupScorer scorer(groups, {false, true});
  EXPECT_NEAR(scorer.paired_p(labels, better, worse), 3.5 / 32, 1e-12);  // 4 won, 1 lost: (1 + 5 / 2) / 32
  EXPECT_DOUBLE_EQ(scorer.paired_p(labels, better, better), 1);
}

// 8 aligned rows of class 0, 7 right: q = 8 / 10. Of 4 conflicting rows, 1 is right.
TEST(GroupScorer, FindsAShortfallOfConflictingRowsWithinTheirClasses) {
  const std::vector<int64_t> groups = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, kUnknown};
  const std::vector<int64_t> labels = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0};
  std::vector<int64_t> predictions = {0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 0, 0, 1};  // class 1 is always wrong, and has no conflict
  const GroupScorer scorer(groups, {false, true, false});
  EXPECT_NEAR(scorer.shortfall_p(labels, predictions), 0.0272, 1e-12);  // 0.2^4 + 4 * 0.8 * 0.2^3
  predictions[9] = predictions[10] = predictions[11] = 0;
  EXPECT_GT(scorer.shortfall_p(labels, predictions), 0.5);
  EXPECT_DOUBLE_EQ(GroupScorer(groups, {false, false, false}).shortfall_p(labels, predictions), 1);
}

TEST(MidPOfCoins, CountsHalfOfWhatWasSeen) {
  EXPECT_NEAR(mid_p_of_coins(0, 7), 1 - 0.5 / 128, 1e-12);
  EXPECT_NEAR(mid_p_of_coins(7, 7), 0.5 / 128, 1e-12);
  EXPECT_NEAR(mid_p_of_coins(5, 8), (93 - 28) / 256.0, 1e-12);
  EXPECT_DOUBLE_EQ(mid_p_of_coins(0, 0), 1);
}

TEST(SignsMidP, IsThatOfCoinsWhereUnitsDifferByOne) {
  EXPECT_NEAR(signs_mid_p({1, 1, -1, 1, 0, 1, -1, 1, -1}), mid_p_of_coins(5, 8), 1e-12);
  EXPECT_DOUBLE_EQ(signs_mid_p({0, 0}), 1);
}

TEST(SignsMidP, CountsSignsOfWholeUnits) {
  EXPECT_NEAR(signs_mid_p({12}), 0.25, 1e-12);                      // +12 is the larger of two sums
  EXPECT_NEAR(signs_mid_p({3, 2}), 0.125, 1e-12);                   // 5 of 5, 1, -1, -5
  EXPECT_NEAR(signs_mid_p({3, -2, 1}), 2.0 / 8 + 1.0 / 16, 1e-12);  // 2 among 6, 4, 2, 0, 0, -2, -4, -6: two above, and itself once
}

// 40 rows of 4 patients are right or wrong together: p of 40 independent rows would be far below.
TEST(GroupScorer, TestsCountUnits) {
  std::vector<int64_t> groups(80, 0), labels(80, 0), plain(80, 0), better(80, 0);
  std::vector<int32_t> units;
  for (int32_t i = 0; i < 80; ++i) units.push_back(i < 40 ? i : 40 + i / 10);
  for (size_t i = 40; i < 80; ++i) {
    groups[i] = 1;
    plain[i] = 1;
  }
  const GroupScorer rows(groups, {false, true}), patients(groups, {false, true}, units);
  EXPECT_LT(rows.paired_p(labels, better, plain), 1e-10);
  EXPECT_NEAR(patients.paired_p(labels, better, plain), 1.0 / 32, 1e-12);
  for (size_t i = 40; i < 60; ++i) plain[i] = 0;
  EXPECT_LT(rows.shortfall_p(labels, plain), 1e-10);
  EXPECT_GT(patients.shortfall_p(labels, plain), 1e-4);
}

TEST(DesignEffect, IsTheSizeOfUnitsThatAgreeAndOneOfSingleRows) {
  EXPECT_DOUBLE_EQ(design_effect({1, 1, -1, -1}, {0, 0, 1, 1}), 2);
  EXPECT_DOUBLE_EQ(design_effect({1, 1, -1, -1}, {0, 1, 2, 3}), 1);
  EXPECT_DOUBLE_EQ(design_effect({1, -1, 1, -1}, {0, 0, 1, 1}), 1);
  EXPECT_DOUBLE_EQ(design_effect({0, 0, 0, 0}, {0, 0, 0, 1}), 2.5);
  EXPECT_DOUBLE_EQ(design_effect({1, 1, 1, -3}, {7, 7, 7, 7}), 4);
  EXPECT_DOUBLE_EQ(design_effect({}, {}), 1);
}

TEST(FoldsOfGroups, KeepGroupsWholeAndStrataEven) {
  std::vector<int64_t> strata;
  std::vector<int32_t> groups;
  for (int32_t group = 0; group < 100; ++group) {
    for (int32_t row = 0; row < 3 + group % 5; ++row) {
      strata.push_back(group % 10 == 0 ? 1 : 0);
      groups.push_back(group);
    }
  }
  const FoldRows drawn = fold_rows(strata, 3), folds = folds_of_groups(drawn, strata, groups, 3);
  EXPECT_EQ(std::set<int64_t>(folds.places.begin(), folds.places.end()).size(), strata.size());
  std::map<int32_t, std::set<size_t>> folds_of_group;
  for (size_t fold = 0; fold < kFolds; ++fold) {
    std::set<int32_t> rare;
    for (int64_t i = folds.begins[fold]; i < folds.begins[fold + 1]; ++i) {
      const auto row = static_cast<size_t>(folds.places[static_cast<size_t>(i)]);
      folds_of_group[groups[row]].insert(fold);
      if (strata[row] == 1) rare.insert(groups[row]);
    }
    EXPECT_EQ(rare.size(), 2u) << fold;  // of ten groups
    EXPECT_NEAR(static_cast<double>(folds.begins[fold + 1] - folds.begins[fold]), 100, 6);
  }
  for (const auto& [group, own] : folds_of_group) EXPECT_EQ(own.size(), 1u) << group;
  EXPECT_EQ(folds.places, folds_of_groups(drawn, strata, groups, 3).places);
}

TEST(FoldRows, HoldEveryRowOnceAndGroupsInEqualParts) {
  std::vector<int64_t> strata;
  for (int64_t i = 0; i < 503; ++i) strata.push_back(i % 50 == 0 ? 1 : 0);
  const FoldRows folds = fold_rows(strata, 3);
  EXPECT_EQ(std::set<int64_t>(folds.places.begin(), folds.places.end()).size(), strata.size());
  for (size_t fold = 0; fold < kFolds; ++fold) {
    int64_t rare = 0;
    for (int64_t i = folds.begins[fold]; i < folds.begins[fold + 1]; ++i) rare += strata[static_cast<size_t>(folds.places[i])];
    EXPECT_GE(rare, 2);
    EXPECT_LE(rare, 3);
    EXPECT_NEAR(static_cast<double>(folds.begins[fold + 1] - folds.begins[fold]), 503.0 / 5, 1);
  }
  EXPECT_EQ(folds.places, fold_rows(strata, 3).places);
  EXPECT_NE(folds.places, fold_rows(strata, 4).places);
}

TEST(FoldRows, DoNotDependOnTheNumbersOfStrata) {
  std::vector<int64_t> strata, renamed;
  for (int64_t i = 0; i < 200; ++i) strata.push_back(i % 3 == 0 ? 0 : i % 7);
  for (const int64_t stratum : strata) renamed.push_back((stratum * 5 + 3) % 7 - 2);
  EXPECT_EQ(fold_rows(renamed, 3).places, fold_rows(strata, 3).places);
}

TEST(FoldRows, TakeAllOfRareGroupsAndWeighTheOthers) {
  std::vector<int64_t> strata(10'000, 0);
  for (size_t i = 0; i < 30; ++i) strata[i * 300] = 1;
  const FoldRows folds = fold_rows(strata, 1, 1000);
  double rows = 0, rare = 0;
  for (size_t i = 0; i < folds.places.size(); ++i) {
    rows += folds.importance[i];
    rare += static_cast<double>(strata[static_cast<size_t>(folds.places[i])]);
  }
  EXPECT_EQ(folds.size(), 1000);
  EXPECT_EQ(rare, 30);
  EXPECT_NEAR(rows, 10'000, 1e-6);
}

// The tail of a sum of unequal coins, against known values and a plain convolution in long double.

using Wide = long double;

// All outcomes of both halves, then their products: another order than trial by trial.
std::vector<Wide> distribution(const std::vector<double>& probabilities, size_t begin, size_t end) {
  if (end - begin == 1) return {1 - Wide(probabilities[begin]), Wide(probabilities[begin])};
  const size_t middle = (begin + end) / 2;
  const std::vector<Wide> a = distribution(probabilities, begin, middle), b = distribution(probabilities, middle, end);
  std::vector<Wide> both(a.size() + b.size() - 1);
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < b.size(); ++j) both[i + j] += a[i] * b[j];
  }
  return both;
}

Wide convolved_tail(const std::vector<double>& probabilities, int64_t successes) {
  const std::vector<Wide> all = distribution(probabilities, 0, probabilities.size());
  Wide sum = 0;
  for (size_t k = 0; k <= static_cast<size_t>(successes); ++k) sum += all[k];
  return sum;
}

TEST(PoissonBinomialTail, OfEqualTrialsIsTheBinomialTail) {
  EXPECT_DOUBLE_EQ(poisson_binomial_tail(std::vector<double>(10, 0.5), 3), 176.0 / 1024);  // 1 + 10 + 45 + 120
  EXPECT_NEAR(poisson_binomial_tail(std::vector<double>(4, 0.8), 1), 0.0272, 1e-15);
  EXPECT_NEAR(poisson_binomial_tail(std::vector<double>(20, 0.9), 15), 0.0431744955, 1e-9);
  double term = std::pow(0.01, 50), sum = term;  // C(50, k) 0.99^k 0.01^(50 - k), each from the one before
  for (int k = 0; k < 20; ++k) sum += term *= (50.0 - k) / (k + 1.0) * 99;
  EXPECT_NEAR(poisson_binomial_tail(std::vector<double>(50, 0.99), 20) / sum, 1, 1e-12);
  EXPECT_NEAR(sum, 3.880002895656905e-47, 1e-58);  // in fractions
}

TEST(PoissonBinomialTail, OfUnequalTrialsIsTheConvolution) {
  Random draw({.seed = 3});
  for (const int trials : {1, 2, 17, 300, 2000}) {
    std::vector<double> probabilities;
    for (int i = 0; i < trials; ++i) probabilities.push_back(i % 3 == 0 ? 0.995 : static_cast<double>(1 + draw.below(999)) / 1000);
    for (const int64_t successes : {trials / 3, trials / 2, 3 * trials / 4, trials - 1}) {
      const auto expected = static_cast<double>(convolved_tail(probabilities, successes));
      EXPECT_NEAR(poisson_binomial_tail(probabilities, successes), expected, 1e-11 * expected) << trials << " " << successes;
    }
  }
}

TEST(PoissonBinomialTail, CoversImpossibleAndCertainNumbers) {
  EXPECT_EQ(poisson_binomial_tail({0.3, 0.7}, -1), 0);
  EXPECT_EQ(poisson_binomial_tail({0.3, 0.7}, 2), 1);
  EXPECT_EQ(poisson_binomial_tail({1, 1, 0}, 1), 0);
  EXPECT_EQ(poisson_binomial_tail({1, 1, 0}, 2), 1);
  EXPECT_EQ(poisson_binomial_tail({}, 0), 1);
}

}  // namespace group_scores_test
}  // namespace debias
