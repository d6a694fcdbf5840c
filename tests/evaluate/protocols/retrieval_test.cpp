// Rankings by hand, ties against every order of their rows, whole sets against naive loops in double, and what is left out.
#include "debias/evaluate/protocols/retrieval.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "debias/core/philox.h"
#include "debias/core/registry.h"
#include "debias/evaluate/protocol_registry.h"
#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"

namespace debias {
namespace retrieval_test {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;

RankingScores scored(std::vector<float> relevant, std::vector<float> others, const std::vector<int64_t>& ks) {
  RankedGallery gallery{std::move(relevant), std::move(others)};
  return score_ranking(gallery, ks);
}

TEST(RankedGallery, HandExample) {
  // Ranks 2, 3 and 6 of 7 are relevant.
  const RankingScores found = scored({0.8f, 0.1f, 0.7f}, {0.9f, 0.6f, 0.5f, -1.f}, {1, 2, 3});
  EXPECT_NEAR(found.average_precision, (1.0 / 2 + 2.0 / 3 + 3.0 / 6) / 3, 1e-12);
  EXPECT_NEAR(found.average_precision_at_r, (1.0 / 2 + 2.0 / 3) / 3, 1e-12);
  EXPECT_THAT(found.hits, ElementsAre(0, 1, 1));
}

TEST(RankedGallery, APerfectOrderScoresOneAndTheWorstAlmostNothing) {
  const RankingScores best = scored({0.5f, 0.6f}, {0.1f, 0.2f, 0.3f}, {1});
  EXPECT_DOUBLE_EQ(best.average_precision, 1);
  EXPECT_DOUBLE_EQ(best.average_precision_at_r, 1);
  const RankingScores worst = scored({0.1f}, {0.2f, 0.3f, 0.4f}, {1, 3, 4, 9});
  EXPECT_DOUBLE_EQ(worst.average_precision, 0.25);
  EXPECT_DOUBLE_EQ(worst.average_precision_at_r, 0);
  EXPECT_THAT(worst.hits, ElementsAre(0, 0, 1, 1));
}

TEST(RankedGallery, WithoutOtherRowsAllIsRight) {
  const RankingScores found = scored({0.5f, 0.5f, -0.1f}, {}, {1, 2});
  EXPECT_NEAR(found.average_precision, 1, 1e-12);
  EXPECT_NEAR(found.average_precision_at_r, 1, 1e-12);
  EXPECT_THAT(found.hits, ElementsAre(1, 1));
}

struct Row {
  float cosine;
  bool relevant;
};

// By the definition, of rows in the order given.
RankingScores of_order(const std::vector<Row>& rows, const std::vector<int64_t>& ks) {
  const auto R = std::ranges::count_if(rows, &Row::relevant);
  RankingScores scores;
  int64_t found = 0;
  for (int64_t i = 1; i <= std::ssize(rows); ++i) {
    if (!rows[static_cast<size_t>(i - 1)].relevant) continue;
    ++found;
    const double precision = static_cast<double>(found) / static_cast<double>(i) / static_cast<double>(R);
    scores.average_precision += precision;
    if (i <= R) scores.average_precision_at_r += precision;
  }
  for (const int64_t k : ks) {
    const auto end = rows.begin() + std::min<int64_t>(k, std::ssize(rows));
    scores.hits.push_back(std::any_of(rows.begin(), end, [](const Row& row) { return row.relevant; }));
  }
  return scores;
}

// The mean over all orders of the rows that descend by cosine.
RankingScores over_all_orders(const std::vector<Row>& rows, const std::vector<int64_t>& ks) {
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  RankingScores mean;
  mean.hits.resize(ks.size());
  double orders = 0;
  do {
    std::vector<Row> ordered;
    for (const size_t i : order) ordered.push_back(rows[i]);
    if (!std::ranges::is_sorted(ordered, std::greater<>(), &Row::cosine)) continue;
    const RankingScores one = of_order(ordered, ks);
    mean.average_precision += one.average_precision;
    mean.average_precision_at_r += one.average_precision_at_r;
    for (size_t i = 0; i < ks.size(); ++i) mean.hits[i] += one.hits[i];
    ++orders;
  } while (std::ranges::next_permutation(order).found);
  mean.average_precision /= orders;
  mean.average_precision_at_r /= orders;
  for (double& hit : mean.hits) hit /= orders;
  return mean;
}

TEST(RankedGallery, TiesAreTheMeanOverAllOrdersOfTheirRows) {
  Random random({.domain = RngDomain::kTest, .seed = 3});
  const std::vector<int64_t> ks = {1, 2, 3, 5, 7};
  int64_t tied = 0;
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<Row> rows(static_cast<size_t>(2 + random.below(5)));
    for (Row& row : rows) row = {static_cast<float>(random.below(3)) / 4 - 0.25f, random.below(2) == 0};
    rows.front().relevant = true;
    RankedGallery gallery;
    for (const Row& row : rows) (row.relevant ? gallery.relevant : gallery.others).push_back(row.cosine);
    const RankingScores found = score_ranking(gallery, ks), expected = over_all_orders(rows, ks);
    EXPECT_NEAR(found.average_precision, expected.average_precision, 1e-12);
    EXPECT_NEAR(found.average_precision_at_r, expected.average_precision_at_r, 1e-12);
    for (size_t i = 0; i < ks.size(); ++i) EXPECT_NEAR(found.hits[i], expected.hits[i], 1e-12);
    for (const float relevant : gallery.relevant) tied += std::ranges::count(gallery.others, relevant);
  }
  EXPECT_GT(tied, 30);
}

LabelledRows random_rows(int64_t count, int64_t classes, uint64_t seed) {
  Random random({.domain = RngDomain::kTest, .seed = seed});
  LabelledRows rows{at::empty({count, 7}, at::kFloat), {}};
  float* value = rows.values.mutable_data_ptr<float>();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t label = random.below(classes);
    for (int64_t d = 0; d < 7; ++d) *value++ = static_cast<float>(3 * random.normal() + (d == label ? 3 : 0));
    rows.labels.push_back(random.below(10) == 0 ? kUnknown : label);
  }
  return rows;
}

double cosine(const LabelledRows& a, size_t i, const LabelledRows& b, size_t j) {
  const float* x = a.values.const_data_ptr<float>() + i * 7;
  const float* y = b.values.const_data_ptr<float>() + j * 7;
  double xy = 0, xx = 0, yy = 0;
  for (int64_t d = 0; d < 7; ++d) {
    xy += static_cast<double>(x[d]) * y[d];
    xx += static_cast<double>(x[d]) * x[d];
    yy += static_cast<double>(y[d]) * y[d];
  }
  return xy / std::sqrt(xx * yy);
}

RetrievalScores naive(const LabelledRows& gallery, const LabelledRows& queries, bool leaves_one_out, const std::vector<int64_t>& ks) {
  RetrievalScores sum;
  sum.recall.resize(ks.size());
  for (size_t i = 0; i < queries.labels.size(); ++i) {
    if (queries.labels[i] == kUnknown) continue;
    std::vector<std::pair<double, bool>> rows;
    for (size_t j = 0; j < gallery.labels.size(); ++j) {
      if (gallery.labels[j] == kUnknown || (leaves_one_out && i == j)) continue;
      rows.emplace_back(cosine(queries, i, gallery, j), gallery.labels[j] == queries.labels[i]);
    }
    std::ranges::sort(rows, [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<Row> ordered;
    for (const auto& [value, relevant] : rows) ordered.push_back({static_cast<float>(value), relevant});
    if (std::ranges::none_of(ordered, &Row::relevant)) {
      ++sum.without_relevant;
      continue;
    }
    const RankingScores one = of_order(ordered, ks);
    ++sum.queries;
    sum.map += one.average_precision;
    sum.map_at_r += one.average_precision_at_r;
    for (size_t k = 0; k < ks.size(); ++k) sum.recall[k] += one.hits[k];
  }
  for (double* value : {&sum.map, &sum.map_at_r}) *value /= static_cast<double>(sum.queries);
  for (double& value : sum.recall) value /= static_cast<double>(sum.queries);
  return sum;
}

void expect_naive(const LabelledRows& gallery, const LabelledRows& queries, RetrievalQueries whose) {
  const std::vector<int64_t> ks = {1, 3, 10};
  const RetrievalScores found = retrieval(gallery, queries, whose, ks);
  const RetrievalScores expected = naive(gallery, queries, whose == RetrievalQueries::kGallery, ks);
  EXPECT_EQ(found.queries, expected.queries);
  EXPECT_EQ(found.without_relevant, expected.without_relevant);
  EXPECT_NEAR(found.map, expected.map, 1e-5);  // cosines that float32 cannot tell apart may change places
  EXPECT_NEAR(found.map_at_r, expected.map_at_r, 1e-5);
  for (size_t k = 0; k < ks.size(); ++k) EXPECT_DOUBLE_EQ(found.recall[k], expected.recall[k]);
}

TEST(Retrieval, EqualsNaiveLoopsInDoubleForOtherQueries) {
  for (const int64_t count : {1, 63, 64, 65, 150})
    expect_naive(random_rows(137, 5, 1), random_rows(count, 5, 17), RetrievalQueries::kOthers);
}

TEST(Retrieval, EqualsNaiveLoopsInDoubleWhereTheQueriesAreTheGallery) {
  for (const int64_t count : {40, 131, 200}) {
    const LabelledRows rows = random_rows(count, 6, static_cast<uint64_t>(count));
    expect_naive(rows, rows, RetrievalQueries::kGallery);
  }
}

TEST(Retrieval, AQueryDoesNotFindItself) {
  const LabelledRows rows{at::tensor({1.f, 0.f, 0.f, 2.f, 3.f, 0.1f, 0.1f, 3.f}).view({4, 2}), {0, 1, 1, 0}};
  EXPECT_EQ(retrieval(rows, rows, RetrievalQueries::kGallery, {1}).recall[0], 0);
  EXPECT_EQ(retrieval(rows, rows, RetrievalQueries::kOthers, {1}).recall[0], 1);
}

TEST(Retrieval, FeaturesThatHaveCollapsedScoreWhatChanceDoesWhateverTheOrderOfClasses) {
  LabelledRows rows{at::full({40, 3}, 0.3f), {}};
  for (int64_t i = 0; i < 40; ++i) rows.labels.push_back(i < 10 ? 0 : 1);  // sorted by class, as folders are
  const RetrievalScores found = retrieval(rows, rows, RetrievalQueries::kGallery, {1});
  EXPECT_NEAR(found.recall[0], (10 * 9.0 / 39 + 30 * 29.0 / 39) / 40, 1e-12);
  LabelledRows turned = rows;
  std::ranges::reverse(turned.labels);
  EXPECT_NEAR(retrieval(turned, turned, RetrievalQueries::kGallery, {1}).map, found.map, 1e-12);
}

TEST(Retrieval, IsTheSameForAnyNumberOfThreads) {
  const LabelledRows rows = random_rows(200, 4, 9);
  const int before = at::get_num_threads();
  std::vector<double> maps;
  for (const int threads : {1, 3}) {
    at::set_num_threads(threads);
    maps.push_back(retrieval(rows, rows, RetrievalQueries::kGallery, {1}).map);
  }
  at::set_num_threads(before);
  EXPECT_EQ(maps[0], maps[1]);
}

TEST(Retrieval, WithoutAQueryIsUndefined) {
  const LabelledRows rows{at::ones({2, 2}), {0, 1}};
  const RetrievalScores found = retrieval(rows, rows, RetrievalQueries::kGallery, {1, 2});
  EXPECT_EQ(found.queries, 0);
  EXPECT_EQ(found.without_relevant, 2);
  EXPECT_TRUE(std::isnan(found.map) && std::isnan(found.map_at_r) && std::isnan(found.recall[1]));
}

TEST(Retrieval, RefusesWhatDoesNotFit) {
  const LabelledRows rows{at::ones({2, 2}), {0, 1}};
  const auto refused = [&](const LabelledRows& gallery) {
    return thrown_by([&] { retrieval(gallery, rows, RetrievalQueries::kOthers, {1}); });
  };
  EXPECT_STREQ(refused({at::ones({2, 3}), {0, 1}}).what(),
               "retrieval: queries of width 2 and a gallery of width 3; use one encoder for both");
  EXPECT_STREQ(refused({at::ones({2, 2}), {0}}).what(), "retrieval: 2 rows and 1 labels; give one label per row");
  EXPECT_STREQ(refused({at::full({2, 2}, NAN), {0, 1}}).what(), "retrieval: a row is not finite; check the encoder's weights");
}

TEST(RetrievalProtocol, IsRightOnASeparableToyForEachSplitAndGallery) {
  EvaluationInput input = toy_input();
  input.valid = std::make_shared<ToyDataset>(20, 3, "held_out");
  for (const char* yaml : {"{}", "{gallery: train}"}) {
    const EvaluationResult found = evaluated(input, "retrieval", yaml);
    for (const char* name : {"recall_at_1", "recall_at_5", "recall_at_10", "map", "map_at_r"}) {
      EXPECT_NEAR(found.metrics.at(fmt::format("test.retrieval_{}", name)), 1, 1e-12) << name;
      EXPECT_NEAR(found.metrics.at(fmt::format("valid.retrieval_{}", name)), 1, 1e-12) << name;
    }
    EXPECT_THAT(found.record.queries, ElementsAre(std::pair("valid", 20), std::pair("test", 31)));
  }
}

TEST(RetrievalProtocol, TakesItsGalleryFromTheEvaluatedSplitOrFromTraining) {
  EvaluationInput input = toy_input();
  const auto train = std::make_shared<ToyDataset>(60, 3);
  for (int64_t i = 0; i < 60; ++i) train->set_label(i, (i + 1) % 3);  // pictures of another class
  input.train = train;
  EXPECT_EQ(evaluated(input, "retrieval").metrics.at("test.retrieval_recall_at_1"), 1);
  EXPECT_EQ(evaluated(input, "retrieval", "{gallery: train}").metrics.at("test.retrieval_recall_at_1"), 0);
}

TEST(RetrievalProtocol, LeavesOutAndCountsQueriesWithoutAnotherImageOfTheirClass) {
  EvaluationInput input = toy_input(4);
  const auto test = std::make_shared<ToyDataset>(8, 3, "test");
  test->set_label(0, 3);
  test->set_label(1, kUnknown);
  input.test = test;
  const EvaluationResult found = evaluated(input, "retrieval");
  EXPECT_THAT(found.record.queries, ElementsAre(std::pair("test", 6)));
  EXPECT_THAT(found.notes,
              ElementsAre("retrieval: test: 1 of 7 queries have no other image of their class in the gallery and are left out"));
}

TEST(RetrievalProtocol, OfATableOfTrainingRowsAloneEachIsLeftOutOfItsOwnRanking) {
  EvaluationInput input = toy_input();
  input.test = input.train;
  input.leaves_one_out = true;
  const auto& metrics = evaluated(input, "retrieval", "{gallery: train, k: [1]}").metrics;
  EXPECT_EQ(metrics, evaluated(input, "retrieval", "{k: [1]}").metrics);
}

TEST(RetrievalProtocol, RejectsOptionsThatMeanNothing) {
  const auto& entry = find_entry(protocol_registry(), "retrieval", "protocol");
  const auto refusal = [&](const std::string& yaml) { return usage_error_of([&] { entry.read(options(yaml)); }); };
  EXPECT_THAT(refusal("{k: []}"), HasSubstr("k: give at least one, e.g. k: [1, 5, 10]"));
  EXPECT_THAT(refusal("{k: [1, 5, 1]}"), HasSubstr("k: 1 is given twice; give it once"));
  EXPECT_THAT(refusal("{k: [0]}"), HasSubstr("out of range"));
  EXPECT_THAT(refusal("{gallery: test}"), HasSubstr("unknown value 'test'"));
}

}  // namespace retrieval_test
}  // namespace debias
