// Hand-worked tables, fairlearn's own figures, and the bootstrap's laws.
#include "debias/evaluate/protocols/group_metrics.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>

#include "debias/core/philox.h"
#include "debias/data/dataset.h"
#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"

namespace debias {
namespace group_metrics_test {

GroupMetricOptions by_label(int64_t min_count = 1) { return {.alignment = AlignmentMap::by_label(10), .min_count = min_count}; }

GroupMetrics metrics_of(const GroupSamples& samples, const GroupMetricOptions& options = by_label()) {
  return group_metrics(count_groups(samples), options);
}

// Labels and bias labels drawn with a correlation, predictions right in 6 of 10: every cell has members. tests/evaluate/
// check_with_fairlearn.py draws the same samples from the same recurrence.
GroupSamples drawn_samples(int64_t classes, int64_t groups, int64_t count, uint64_t state) {
  const auto next = [&state](int64_t n) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(n));
  };
  GroupSamples samples{{}, {}, {}, classes, groups};
  for (int64_t i = 0; i < count; ++i) {
    const int64_t label = next(classes), bias = next(10) < 4 ? label % groups : next(groups);
    samples.labels.push_back(label);
    samples.biases.push_back(bias);
    samples.predictions.push_back(next(10) < 6 ? label : next(2) == 0 ? bias % classes : next(classes));
  }
  return samples;
}

// Cells (label, bias): (0,0) 3 of 4 right, (0,1) 1 of 2, (1,0) 0 of 1, (1,1) 3 of 3.
GroupSamples four_cells() { return {{0, 0, 0, 0, 0, 0, 1, 1, 1, 1}, {0, 0, 0, 0, 1, 1, 0, 1, 1, 1}, {0, 0, 0, 1, 0, 1, 0, 1, 1, 1}, 2, 2}; }

TEST(GroupMetrics, HandExample) {
  const GroupMetrics metrics = metrics_of(four_cells());
  EXPECT_DOUBLE_EQ(metrics.at("acc1"), 0.7);
  EXPECT_DOUBLE_EQ(metrics.at("aligned_acc"), 6.0 / 7);
  EXPECT_DOUBLE_EQ(metrics.at("conflicting_acc"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(metrics.at("worst_group_acc"), 0);
  EXPECT_DOUBLE_EQ(metrics.at("unbiased_acc"), (0.75 + 0.5 + 0 + 1) / 4);
  EXPECT_DOUBLE_EQ(metrics.at("demographic_parity_difference"), 4.0 / 5 - 1.0 / 5);
  EXPECT_DOUBLE_EQ(metrics.at("equal_opportunity_difference"), 1.0);
  EXPECT_DOUBLE_EQ(metrics.at("equalized_odds_difference"), 1.0);
  const PredictionCounts counts = count_groups(four_cells());
  EXPECT_EQ(counts.count, (std::vector<int64_t>{4, 2, 1, 3}));
  EXPECT_EQ(counts.correct, (std::vector<int64_t>{3, 1, 0, 3}));
  EXPECT_EQ(counts.predicted, (std::vector<int64_t>{4, 1, 1, 4}));
}

TEST(GroupMetrics, SmallGroupsAreLeftOutOfWorstAndUnbiased) {
  const GroupMetrics metrics = metrics_of(four_cells(), by_label(2));
  EXPECT_DOUBLE_EQ(metrics.at("worst_group_acc"), 0.5);
  EXPECT_DOUBLE_EQ(metrics.at("unbiased_acc"), (0.75 + 0.5 + 1) / 3);
  EXPECT_DOUBLE_EQ(metrics.at("conflicting_acc"), 1.0 / 3);
  EXPECT_TRUE(std::isnan(metrics_of(four_cells(), by_label(5)).at("worst_group_acc")));
}

TEST(GroupMetrics, UnknownLabelsAndBiasValuesAreInNoGroup) {
  GroupSamples samples = four_cells();
  samples.labels.insert(samples.labels.end(), {kUnknown, 1});
  samples.biases.insert(samples.biases.end(), {0, kUnknown});
  samples.predictions.insert(samples.predictions.end(), {0, 1});
  const GroupMetrics metrics = metrics_of(samples);
  EXPECT_DOUBLE_EQ(metrics.at("acc1"), 8.0 / 11);
  EXPECT_DOUBLE_EQ(metrics.at("aligned_acc"), 6.0 / 7);
  EXPECT_EQ(count_groups(samples).count, count_groups(four_cells()).count);
}

TEST(GroupMetrics, WithoutACorrespondenceNothingIsAligned) {
  const GroupMetrics metrics = metrics_of(four_cells(), {.alignment = AlignmentMap()});
  EXPECT_FALSE(metrics.contains("aligned_acc"));
  EXPECT_FALSE(metrics.contains("conflicting_acc"));
  EXPECT_TRUE(metrics.contains("worst_group_acc"));
}

// A test set of conflicting images only, as bFFHQ's: each rate is known for one bias label, so no difference is.
TEST(GroupMetrics, AnEmptyGroupIsUndefinedUnlessTakenForZero) {
  const GroupSamples samples{{0, 0, 1, 1}, {1, 1, 0, 0}, {0, 1, 1, 1}, 2, 2};
  const GroupMetrics skipped = metrics_of(samples), zero = metrics_of(samples, {.alignment = {}, .empty = EmptyRate::kZero});
  EXPECT_TRUE(std::isnan(skipped.at("aligned_acc")));
  EXPECT_TRUE(std::isnan(skipped.at("equal_opportunity_difference")));
  EXPECT_TRUE(std::isnan(skipped.at("equalized_odds_difference")));
  EXPECT_DOUBLE_EQ(skipped.at("demographic_parity_difference"), 0.5);
  EXPECT_DOUBLE_EQ(skipped.at("worst_group_acc"), 0.5);
  EXPECT_DOUBLE_EQ(zero.at("equal_opportunity_difference"), 1.0);  // fairlearn 0.15.0 gives 1.0 and 1.0
  EXPECT_DOUBLE_EQ(zero.at("equalized_odds_difference"), 1.0);
  EXPECT_TRUE(std::isnan(count_groups(samples).accuracy(0)));
}

// Figures printed by check_with_fairlearn.py (fairlearn 0.15.0, scikit-learn 1.9.1).
struct FairlearnCase {
  int64_t classes, groups, count;
  double parity, opportunity, odds;
};
class AgainstFairlearn : public testing::TestWithParam<FairlearnCase> {};
TEST_P(AgainstFairlearn, EqualsItsFigures) {
  const FairlearnCase& c = GetParam();
  const GroupMetrics metrics = metrics_of(drawn_samples(c.classes, c.groups, c.count, 1));
  EXPECT_NEAR(metrics.at("demographic_parity_difference"), c.parity, 1e-12);
  EXPECT_NEAR(metrics.at("equal_opportunity_difference"), c.opportunity, 1e-12);
  EXPECT_NEAR(metrics.at("equalized_odds_difference"), c.odds, 1e-12);
}
INSTANTIATE_TEST_SUITE_P(Drawn, AgainstFairlearn,
                         testing::Values(FairlearnCase{2, 2, 500, 0.4387250176723861, 0.18263521104156633, 0.18622754491017962},
                                         FairlearnCase{2, 3, 301, 0.43058174960104456, 0.22000724900326207, 0.22000724900326207},
                                         FairlearnCase{3, 3, 600, 0.5269430051813472, 0.46990740740740744, 0.46990740740740744},
                                         FairlearnCase{10, 10, 5000, 0.4980314960629922, 0.5336538461538461, 0.5336538461538461},
                                         FairlearnCase{5, 2, 1000, 0.3254346296854588, 0.22775510204081628, 0.22775510204081628}));

TEST(GroupMetrics, RefusesListsThatDoNotFitAndValuesOutOfRange) {
  GroupSamples samples = four_cells();
  samples.predictions.pop_back();
  EXPECT_EQ(data_error_of([&] { count_groups(samples); }),
            "groups: 10 labels, 10 bias labels and 9 predictions; give one of each per sample");
  samples = four_cells();
  samples.predictions[3] = 2;
  EXPECT_EQ(data_error_of([&] { count_groups(samples); }), "groups: prediction 2 of sample 3 is not in [0, 2); check the labels");
  samples = four_cells();
  samples.biases[4] = -2;
  EXPECT_EQ(data_error_of([&] { count_groups(samples); }), "groups: bias label -2 of sample 4 is not in [-1, 2); check the labels");
}

// acc1 of n samples is binomial: its interval is 2 * 1.96 * sqrt(p (1 - p) / n) wide, give or take the replicates' noise.
TEST(GroupIntervals, HaveTheWidthOfABinomialAndHoldTheValue) {
  const GroupSamples samples = drawn_samples(4, 4, 2000, 3);
  const double p = metrics_of(samples).at("acc1");
  const auto intervals = group_intervals(samples, by_label(), {});
  const auto [low, high] = intervals.at("acc1");
  EXPECT_LT(low, p);
  EXPECT_GT(high, p);
  EXPECT_NEAR(high - low, 2 * 1.96 * std::sqrt(p * (1 - p) / 2000), 0.006);
  const auto [narrow_low, narrow_high] = group_intervals(samples, {}, {.level = 0.5}).at("acc1");
  EXPECT_NEAR(narrow_high - narrow_low, 2 * 0.6745 * std::sqrt(p * (1 - p) / 2000), 0.004);
  EXPECT_EQ(intervals.size(), metrics_of(samples).size());
}

TEST(GroupIntervals, FollowTheSeedAndNothingElse) {
  const GroupSamples samples = drawn_samples(3, 3, 200, 3);
  const auto once = group_intervals(samples, {}, {.replicates = 50});
  at::set_num_threads(3);
  EXPECT_EQ(group_intervals(samples, {}, {.replicates = 50}), once);
  at::set_num_threads(1);
  EXPECT_NE(group_intervals(samples, {}, {.replicates = 50, .seed = 2}), once);
  EXPECT_TRUE(group_intervals(samples, {}, {.replicates = 0}).empty());
}

TEST(GroupIntervals, AGroupLeftOutOfTheValueIsLeftOutOfReplicates) {
  GroupSamples samples = drawn_samples(2, 2, 400, 3);
  samples.groups = 3;  // one sample of a third bias label, predicted wrong
  samples.labels.push_back(0);
  samples.biases.push_back(2);
  samples.predictions.push_back(1);
  EXPECT_GT(group_intervals(samples, by_label(2), {}).at("worst_group_acc").first, 0.3);
  EXPECT_EQ(group_intervals(samples, {}, {}).at("worst_group_acc").first, 0);
}

// 100 groups of 20 samples, each with 0.6 right: the worst of a replicate is far below the worst of the sample.
TEST(GroupIntervals, ThatOfTheWorstGroupHoldsItsValueAndTheTruth) {
  int held = 0;
  for (int seed = 0; seed < 40; ++seed) {
    Random random({.seed = static_cast<uint64_t>(seed)});
    GroupSamples samples{{}, {}, {}, 10, 10};
    for (int64_t i = 0; i < 2000; ++i) {
      const int64_t label = i % 10;
      samples.labels.push_back(label);
      samples.biases.push_back(i / 10 % 10);
      samples.predictions.push_back(random.uniform() < 0.6 ? label : (label + 1) % 10);
    }
    const double worst = metrics_of(samples).at("worst_group_acc");
    const auto [low, high] = group_intervals(samples, {}, {.replicates = 20}).at("worst_group_acc");
    EXPECT_LE(low, worst);
    EXPECT_GE(high, worst);
    held += low <= 0.6 && 0.6 <= high;
  }
  EXPECT_GE(held, 35);  // of 40; percentiles of replicates hold it in none
}

}  // namespace group_metrics_test
}  // namespace debias
