// Rows of one group: neighbours and pairs leave them out, intervals are over groups. By naive loops, by hand and by what copies must not change.
#include "debias/evaluate/row_mates.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "debias/core/philox.h"
#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/class_prior.h"
#include "debias/evaluate/protocols/group_metrics.h"
#include "debias/evaluate/protocols/knn.h"
#include "debias/evaluate/protocols/low_shot.h"
#include "debias/evaluate/protocols/retrieval.h"
#include "debias/results/statistics.h"
#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"

namespace debias {
namespace row_mates_test {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Numbers = std::vector<int64_t>;

at::Tensor drawn_rows(int64_t n, int64_t d, uint64_t seed) {
  Random random({.domain = RngDomain::kTest, .seed = seed});
  at::Tensor rows = at::empty({n, d}, at::kFloat);
  for (int64_t i = 0; i < n * d; ++i) rows.mutable_data_ptr<float>()[i] = static_cast<float>(random.normal());
  return rows;
}

// -1 ... below - 1
Numbers drawn_numbers(int64_t n, int64_t below, uint64_t seed) {
  Random random({.domain = RngDomain::kTest, .seed = seed});
  Numbers numbers(static_cast<size_t>(n));
  for (auto& number : numbers) number = random.below(below + 1) - 1;
  return numbers;
}

std::shared_ptr<ToyDataset> grouped_toy(int64_t size, int64_t images, const std::string& split, int64_t first = 0) {
  auto dataset = std::make_shared<ToyDataset>(size, 3, split);
  dataset->set_groups(images, first);
  return dataset;
}

TEST(GroupNumbers, AreOfNamesOverSeveralSets) {
  GroupNumbers numbers;
  EXPECT_THAT(numbers.of(*grouped_toy(4, 2, "train")), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(numbers.of(*grouped_toy(4, 2, "test", 1)), ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(numbers.of(ToyDataset(4, 3)), IsEmpty());
  EXPECT_EQ(group_count({0, 0, kUnknown, 3, kUnknown}), 4);
}

// By the definition: the k nearest rows of another group.
int64_t naive_prediction(const at::Tensor& gallery, const Numbers& labels, const Numbers& groups, const at::Tensor& query, int64_t group,
                         int64_t itself, int64_t k, double t) {
  std::vector<std::pair<double, int64_t>> all;
  const at::Tensor q = query.to(at::kDouble);
  for (int64_t i = 0; i < gallery.size(0); ++i) {
    const auto place = static_cast<size_t>(i);
    if (labels[place] == kUnknown || i == itself || (group != kUnknown && groups[place] == group)) continue;
    const at::Tensor row = gallery[i].to(at::kDouble);
    all.emplace_back(-(row.dot(q) / row.norm() / q.norm()).item<double>(), labels[place]);
  }
  std::ranges::sort(all);
  std::vector<double> scores(4);
  for (int64_t i = 0; i < k; ++i)
    scores[static_cast<size_t>(all[static_cast<size_t>(i)].second)] += std::exp(-all[static_cast<size_t>(i)].first / t);
  return std::ranges::max_element(scores) - scores.begin();
}

TEST(GroupedKnn, LeavesOutRowsOfTheQuerysGroup) {
  const at::Tensor gallery = drawn_rows(90, 5, 1), queries = drawn_rows(40, 5, 2);
  const KnnGallery labelled{gallery, drawn_numbers(90, 4, 3), 4, drawn_numbers(90, 12, 4)};
  const Numbers labels = drawn_numbers(40, 4, 5), groups = drawn_numbers(40, 12, 6);
  ASSERT_GT(most_mates(labelled, groups), 4);
  const KnnResult found = knn(labelled, queries, labels, 7, 0.1, {}, KnnQueries::kOthers, groups);
  const KnnResult own = knn(labelled, gallery, labelled.labels, 7, 0.1, {}, KnnQueries::kGallery, labelled.groups);
  for (int64_t q = 0; q < 90; ++q) {
    const auto place = static_cast<size_t>(q);
    if (q < 40) {
      EXPECT_EQ(found.predictions[place],
                naive_prediction(gallery, labelled.labels, labelled.groups, queries[q], groups[place], -1, 7, 0.1));
    }
    EXPECT_EQ(own.predictions[place],
              naive_prediction(gallery, labelled.labels, labelled.groups, gallery[q], labelled.groups[place], q, 7, 0.1));
  }
  for (const auto& nearest : nearest_voters(labelled, queries.slice(0, 0, 1), 90, {3})) {
    for (const Neighbour& neighbour : nearest) EXPECT_NE(labelled.groups[static_cast<size_t>(neighbour.row)], 3);
  }
}

TEST(GroupedKnn, SaysWhichRowsDoNotVoteAndRefusesAGroupOfAll) {
  EvaluationInput input = toy_input();
  input.train = grouped_toy(60, 4, "train");
  input.test = grouped_toy(30, 5, "test", 12);  // bursts 12, 13 and 14 are of both
  const EvaluationResult result = evaluated(input, "knn");
  EXPECT_THAT(
      result.notes,
      Contains("knn: test: 15 of 30 images have images of their group among the training images (column burst), which do not vote"));
  EXPECT_EQ(result.record.options["k"], 56);  // of the 60 without a group's 4
  EXPECT_EQ(details(result)["group_counts"]["train"], 15);
  EXPECT_EQ(details(result)["group_counts"]["test"], 6);
  EXPECT_EQ(details(result)["groups_from"], "column burst");
  EvaluationCache cache(input, Progress::silent());
  EXPECT_THAT(cache.evaluate("mean_classifier").notes,
              Contains(HasSubstr("test: 15 of 30 images are of groups of training images (column burst)")));
  input.train = grouped_toy(60, 60, "train", 12);
  EXPECT_THAT(data_error_of([&] { evaluated(input, "knn"); }), HasSubstr("all 60 labelled training images belong together (column burst)"));
}

TEST(GroupedRetrieval, RanksRowsOfOtherGroups) {
  const at::Tensor gallery = at::tensor({1.F, 0.F, 1.F, 0.1F, 1.F, 0.5F, 1.F, 1.F}).view({4, 2}),
                   query = at::tensor({1.F, 0.F}).view({1, 2});
  const auto recall = [&](const Numbers& groups) {
    return retrieval({gallery, {0, 1, 0, 1}, {5, 6, 7, kUnknown}}, {query, {0}, groups}, RetrievalQueries::kOthers, {1, 2},
                     Progress::silent())
        .recall;
  };
  EXPECT_THAT(recall({kUnknown}), ElementsAre(1, 1));
  EXPECT_THAT(recall({5}), ElementsAre(0, 1));  // row 0 is left out; row 1 is of another class, row 2 of its own
}

TEST(LowShotRows, AreWholeGroups) {
  Numbers labels, groups;
  for (int64_t i = 0; i < 60; ++i) {
    labels.push_back(i % 2);
    groups.push_back(i / 6);  // three of each class
  }
  for (int64_t draw = 0; draw < 5; ++draw) {
    const Numbers rows = low_shot_rows(labels, {"", 0, 10}, draw, 1, groups);
    EXPECT_EQ(rows.size(), 18U);  // of each class three groups of three, as near to 10 as whole groups come
    for (int64_t label = 0; label < 2; ++label) {
      std::multiset<int64_t> drawn;
      for (const int64_t row : rows) {
        if (labels[static_cast<size_t>(row)] == label) drawn.insert(groups[static_cast<size_t>(row)]);
      }
      for (const int64_t group : drawn) EXPECT_EQ(drawn.count(group), 3U);
    }
  }
}

GroupSamples samples_of(const Numbers& right, const Numbers& units) {
  GroupSamples samples;
  samples.labels = samples.biases = Numbers(right.size(), 0);
  for (const int64_t one : right) samples.predictions.push_back(1 - one);
  samples.classes = 2;
  samples.groups = 1;
  samples.units = units;
  return samples;
}

// Three rows of one unit are right, the one of another is wrong: two units are drawn, so that the accuracy is 0, 3/4 and 1 with chances
// 1/4, 1/2 and 1/4. Drawn row by row it would be 1/4 or more in 99.6 % of replicates.
TEST(ClusterBootstrap, DrawsUnits) {
  const GroupSamples samples = samples_of({1, 1, 1, 0}, {4, 4, 4, 9});
  const auto interval = [&](double level) { return group_intervals(samples, {}, {.replicates = 4000, .level = level}).at("acc1"); };
  EXPECT_EQ(interval(0.4), std::pair(0.75, 0.75));
  EXPECT_EQ(interval(0.6), std::pair(0.0, 1.0));
  EXPECT_TRUE(group_intervals(samples_of({1, 0}, {3, 3}), {}, {}).empty());
}

TEST(ClusterBootstrap, CopiesOfRowsChangeNoInterval) {
  Numbers right, copied, units;
  for (int64_t i = 0; i < 40; ++i) {
    right.push_back(i % 4 == 0 ? 0 : 1);
    copied.insert(copied.end(), 5, right.back());
    units.insert(units.end(), 5, i);
  }
  const auto single = group_intervals(samples_of(right, {}), {}, {});
  const auto grouped = group_intervals(samples_of(copied, units), {}, {});
  const auto ungrouped = group_intervals(samples_of(copied, {}), {}, {});
  EXPECT_EQ(grouped.at("acc1"), single.at("acc1"));
  EXPECT_LT(ungrouped.at("acc1").second - ungrouped.at("acc1").first, 0.6 * (single.at("acc1").second - single.at("acc1").first));
  const auto worst = wilson_interval({0.75, 39});  // as of 40 rows, less the degree of freedom
  EXPECT_NEAR(grouped.at("worst_group_acc").first, worst.first, 1e-12);
  EXPECT_NEAR(grouped.at("worst_group_acc").second, worst.second, 1e-12);
}

TEST(ClusterBootstrap, IsSaidWithTheNumberOfGroups) {
  EvaluationInput input = toy_input();
  const auto test = grouped_toy(30, 5, "test", 100);
  for (int64_t i = 0; i < 30; ++i) test->set_bias(i, i % 2);
  test->editable_info().bias_names = {"red", "green"};
  const auto train = grouped_toy(60, 4, "train");
  for (int64_t i = 0; i < 60; ++i) train->set_bias(i, i % 2);
  train->editable_info().bias_names = {"red", "green"};
  input.train = train;
  input.test = test;
  EXPECT_THAT(evaluated(input, "groups").notes,
              Contains(HasSubstr("groups: test: intervals are over 6 groups (column burst) of 30 images, too few")));
}

TEST(GroupedPrior, CountsPairsOfDifferentGroups) {
  EXPECT_DOUBLE_EQ(class_prior_from_labels({0, 0, 1, 1}).tau_plus, 2.0 / 6);
  const PriorEstimate grouped = class_prior_from_labels({0, 0, 1, 1}, {7, 7, kUnknown, 8});
  EXPECT_DOUBLE_EQ(grouped.tau_plus, 1.0 / 5);  // rows 2 and 3, of five pairs
  EXPECT_EQ(grouped.groups, 3);
  EXPECT_EQ(grouped.images, 4);
  EXPECT_THAT(data_error_of([] { class_prior_from_labels({0, 1, 1}, {2, 2, 2}); }), HasSubstr("all 3 labelled images are of one group"));
}

TEST(GroupedPrior, CopiesDoNotNarrowTheInterval) {
  Numbers labels, copied, groups;
  for (int64_t i = 0; i < 60; ++i) {
    labels.push_back(i % 7 < 4 ? 0 : i % 3);
    copied.insert(copied.end(), 4, labels.back());
    groups.insert(groups.end(), 4, i);
  }
  const PriorEstimate single = class_prior_from_labels(labels), grouped = class_prior_from_labels(copied, groups),
                      ungrouped = class_prior_from_labels(copied);
  EXPECT_NEAR(grouped.tau_plus, single.tau_plus, 1e-12);
  EXPECT_GE(grouped.high - grouped.low, single.high - single.low - 1e-9);  // as of 60 labels, or wider by the jackknife
  EXPECT_LE(grouped.high - grouped.low, 1.1 * (single.high - single.low));
  EXPECT_LT(ungrouped.high - ungrouped.low, 0.7 * (single.high - single.low));
}

TEST(GroupedPrior, OfMixedGroupsHasTheIntervalOfTheJackknife) {
  Numbers labels, groups;
  for (int64_t i = 0; i < 240; ++i) {
    groups.push_back(i / 8);
    labels.push_back((i / 8 % 5 == 0) != (i % 8 == 7) ? 1 : 0);
  }
  std::vector<double> without;
  for (int64_t left = 0; left < 30; ++left) {
    double agreeing = 0, all = 0;
    for (size_t i = 0; i < 240; ++i) {
      for (size_t j = 0; j < 240; ++j) {
        if (groups[i] == groups[j] || groups[i] == left || groups[j] == left) continue;
        ++all;
        agreeing += labels[i] == labels[j];
      }
    }
    without.push_back(agreeing / all);
  }
  double mean = 0, squares = 0;
  for (const double one : without) mean += one / 30;
  for (const double one : without) squares += (one - mean) * (one - mean);
  const PriorEstimate found = class_prior_from_labels(labels, groups);
  EXPECT_NEAR(found.high - found.tau_plus, 1.96 * std::sqrt(29.0 / 30 * squares), 1e-9);
}

TEST(GroupedPrior, FromViewsComparesDifferentGroups) {
  const at::Tensor first = drawn_rows(100, 8, 1), noise = drawn_rows(200, 8, 2) * 0.3;
  const at::Tensor copies = first.repeat_interleave(2, 0), rows = at::stack({copies, copies + noise}, 1);
  Numbers groups;
  for (int64_t i = 0; i < 200; ++i) groups.push_back(i / 2);
  const PriorEstimate grouped = class_prior_from_views(rows, groups), ungrouped = class_prior_from_views(rows);
  EXPECT_EQ(grouped.groups, 100);
  EXPECT_EQ(ungrouped.groups, 0);
  EXPECT_LT(grouped.tau_plus, ungrouped.tau_plus);
  EXPECT_THAT(data_error_of([&] { class_prior_from_views(rows, Numbers(200, 1)); }), HasSubstr("all images are of one group"));
}

}  // namespace row_mates_test
}  // namespace debias
