// Against a naive double loop over sizes that straddle the blocks; what ties, unlabelled rows and small temperatures do.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <set>
#include <sstream>

#include "debias/core/philox.h"
#include "debias/data/dataset.h"
#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/embedding_file.h"
#include "debias/evaluate/protocols/knn.h"
#include "debias/image/geometry.h"
#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace knn_test {

at::Tensor random_rows(int64_t n, int64_t d, uint64_t seed) {
  Random random({.domain = RngDomain::kTest, .seed = seed});
  at::Tensor rows = at::empty({n, d}, at::kFloat);
  for (int64_t i = 0; i < n * d; ++i) rows.mutable_data_ptr<float>()[i] = static_cast<float>(random.normal() * 3);
  return rows;
}

std::vector<int64_t> random_labels(int64_t n, int64_t classes, uint64_t seed) {
  Random random({.domain = RngDomain::kTest, .seed = seed});
  std::vector<int64_t> labels(n);
  for (auto& label : labels) label = random.below(classes);
  return labels;
}

using Rows = std::vector<std::vector<double>>;

Rows in_double(const at::Tensor& rows) {
  Rows result(rows.size(0));
  const float* value = rows.const_data_ptr<float>();
  for (auto& row : result) {
    for (int64_t d = 0; d < rows.size(1); ++d) row.push_back(*value++);
  }
  return result;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

// Scores of one query by the definition.
std::vector<double> naive_scores(const Rows& gallery, const KnnGallery& labelled, const std::vector<double>& query, int64_t k, double t) {
  std::vector<std::pair<double, int64_t>> all;
  for (size_t i = 0; i < gallery.size(); ++i) {
    if (labelled.labels[i] == kUnknown) continue;
    all.emplace_back(-dot(query, gallery[i]) / std::sqrt(dot(query, query) * dot(gallery[i], gallery[i])), labelled.labels[i]);
  }
  std::sort(all.begin(), all.end());
  std::vector<double> scores(labelled.classes);
  for (int64_t i = 0; i < k; ++i) scores[all[i].second] += std::exp(-all[i].first / t);
  return scores;
}

KnnBlock screened() { return {.search = KnnSearch::kScreened}; }

void expect_naive(const KnnGallery& gallery, int64_t k, double t, const std::vector<KnnBlock>& blocks) {
  const at::Tensor queries = random_rows(61, gallery.values.size(1), 5);
  const Rows gallery_rows = in_double(gallery.values), query_rows = in_double(queries);
  const auto labels = random_labels(61, gallery.classes, 6);
  for (const KnnBlock& block : blocks) {
    const KnnResult result = knn(gallery, queries, labels, k, t, block);
    ASSERT_EQ(result.predictions.size(), 61u);
    for (int64_t q = 0; q < 61; ++q) {
      const auto scores = naive_scores(gallery_rows, gallery, query_rows[q], k, t);
      EXPECT_EQ(result.predictions[q], std::max_element(scores.begin(), scores.end()) - scores.begin()) << "query " << q << " k " << k;
      EXPECT_EQ(result.ranks[q], label_rank(scores, labels[q])) << "query " << q << " k " << k;
    }
  }
}

TEST(Knn, EqualsANaiveDoubleLoopWhateverTheBlocks) {
  const KnnGallery gallery{random_rows(137, 9, 1), random_labels(137, 7, 2), 7};
  const std::vector<KnnBlock> blocks = {{1, 137}, {61, 1}, {7, 13}, {60, 136}, {61, 137}, {62, 138}, {}, screened()};
  for (const int64_t k : {1, 2, 20, 136, 137}) expect_naive(gallery, k, 0.5, blocks);
}

// At this size `auto` screens; of rows in two tight clusters rounding cannot tell which is nearer, and it goes back to the exact search.
TEST(Knn, LargeSearchesAgreeWithTheExactOne) {
  const at::Tensor centres = random_rows(2, 64, 3) * 20;
  const auto clustered = [&](int64_t n, uint64_t seed) {
    return random_rows(n, 64, seed) + centres.index_select(0, at::arange(n, at::kLong).remainder(2));
  };
  const auto expect_equal = [](const KnnGallery& gallery, const at::Tensor& queries) {
    const auto labels = random_labels(500, 7, 6);
    const KnnResult exact = knn(gallery, queries, labels, 20, 0.5, {.search = KnnSearch::kExact});
    const KnnResult found = knn(gallery, queries, labels, 20, 0.5);
    EXPECT_EQ(found.predictions, exact.predictions);
    EXPECT_EQ(found.ranks, exact.ranks);
  };
  expect_equal({random_rows(4000, 64, 1) + 1, random_labels(4000, 7, 2), 7}, random_rows(500, 64, 5) + 1);
  expect_equal({clustered(4000, 1), random_labels(4000, 7, 2), 7}, clustered(500, 5));
}

TEST(Knn, RefusesLengthsAndWidthsThatDoNotFitAndTooManyNeighbours) {
  const KnnGallery gallery{random_rows(10, 3, 1), random_labels(10, 2, 2), 2};
  const auto refusal = [&](const KnnGallery& rows, const at::Tensor& queries, const std::vector<int64_t>& labels, int64_t k) {
    return data_error_of([&] { knn(rows, queries, labels, k, 0.5); });
  };
  EXPECT_EQ(refusal(gallery, random_rows(2, 3, 5), {0}, 3), "knn: 2 rows and 1 labels of the queries; give one label per row");
  EXPECT_EQ(refusal({gallery.values, random_labels(9, 2, 2), 2}, random_rows(1, 3, 5), {0}, 3),
            "knn: 10 rows and 9 labels of the gallery; give one label per row");
  EXPECT_EQ(refusal(gallery, random_rows(1, 4, 5), {0}, 3), "knn: queries of width 4 and a gallery of width 3; use one encoder for both");
  EXPECT_EQ(refusal(gallery, random_rows(1, 3, 5), {0}, 11), "knn: k is 11, the gallery has 10 labelled rows; give k of 1 to that");
}

TEST(Knn, GivesTheSameOnSeveralThreads) {
  const KnnGallery gallery{random_rows(137, 9, 1), random_labels(137, 7, 2), 7};
  at::set_num_threads(3);
  expect_naive(gallery, 20, 0.5, {{7, 13}, {}, screened()});
  at::set_num_threads(1);
}

TEST(Knn, RowsWithoutALabelDoNotVote) {
  KnnGallery gallery{random_rows(137, 9, 1), random_labels(137, 7, 2), 7};
  for (size_t i = 0; i < gallery.labels.size(); i += 3) gallery.labels[i] = kUnknown;
  expect_naive(gallery, 11, 0.1, {{}, screened()});
}

// Cosines with the query (2, 0): 1, 0.6, 0.8, -1. At k = 3 and t = 0.5 class 0 scores e^2 = 7.39, class 1 e^1.2 + e^1.6 = 8.27.
TEST(Knn, HandExample) {
  const KnnGallery gallery{at::tensor({5.f, 0.f, 0.6f, 0.8f, 1.6f, 1.2f, -1.f, 0.f}).view({4, 2}), {0, 1, 1, 0}, 2};
  const at::Tensor query = at::tensor({2.f, 0.f}).view({1, 2});
  const auto predicted = [&](int64_t k, double t) { return knn(gallery, query, {0}, k, t).predictions[0]; };
  EXPECT_EQ(predicted(1, 0.5), 0);
  EXPECT_EQ(predicted(2, 0.5), 0);
  EXPECT_EQ(predicted(3, 0.5), 1);
  EXPECT_EQ(predicted(3, 0.1), 0);
  EXPECT_EQ(knn(gallery, query, {0}, 3, 0.5).ranks[0], 1);
}

TEST(Knn, OfEqualCosinesTheLowerRowIsNearerAlsoAcrossBlocks) {
  const KnnGallery gallery{at::tensor({1.f, 2.f, 1.f, 2.f, 1.f, 2.f}).view({3, 2}), {2, 0, 1}, 3};
  for (const int64_t width : {1, 2, 3}) {
    EXPECT_EQ(knn(gallery, at::tensor({1.f, 1.f}).view({1, 2}), {0}, 1, 0.5, {1, width}).predictions[0], 2);
  }
}

TEST(Knn, TheSmallestTemperatureDoesNotOverflow) {
  const KnnGallery gallery{random_rows(137, 9, 1), random_labels(137, 7, 2), 7};
  const at::Tensor queries = random_rows(61, 9, 5);
  const auto labels = random_labels(61, 7, 6);
  const KnnResult sharp = knn(gallery, queries, labels, 137, 1e-3), nearest = knn(gallery, queries, labels, 1, 1e-3);
  int64_t same = 0;
  for (int64_t q = 0; q < 61; ++q) same += sharp.predictions[q] == nearest.predictions[q];
  EXPECT_GE(same, 58);  // the nearest row decides, unless rivals lie within a few thousandths of its cosine
}

TEST(Knn, QueriesWithoutALabelAreNotRanked) {
  const KnnGallery gallery{random_rows(10, 3, 1), random_labels(10, 2, 2), 2};
  const auto ranks = knn(gallery, random_rows(2, 3, 5), {kUnknown, 1}, 3, 0.5).ranks;
  EXPECT_EQ(ranks[0], kUnranked);
  EXPECT_GE(ranks[1], 0);
}

TEST(Knn, RowsThatAreNotFiniteAreRefused) {
  KnnGallery gallery{random_rows(10, 3, 1), random_labels(10, 2, 2), 2};
  at::Tensor queries = random_rows(2, 3, 5);
  queries[1][2] = std::numeric_limits<float>::quiet_NaN();
  const auto refusal = [&](const at::Tensor& of) { return error_of(ErrorKind::kNumeric, [&] { knn(gallery, of, {0, 1}, 3, 0.5); }); };
  EXPECT_EQ(refusal(queries), "knn: a row of the queries is not finite; check the encoder's weights");
  gallery.values[3][0] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(refusal(random_rows(2, 3, 5)), "knn: a row of the gallery is not finite; check the encoder's weights");
}

TEST(Knn, KIsClampedOnlyWhenNobodyAskedForIt) {
  EXPECT_EQ(resolve_k(KnnOptions(), 1000), 200);
  EXPECT_EQ(resolve_k(KnnOptions(), 150), 150);
  EXPECT_EQ(resolve_k(KnnOptions{.k = 150}, 150), 150);
  EXPECT_EQ(usage_error_of([] { resolve_k(KnnOptions{.k = 151}, 150); }),
            "knn: k: 151 neighbours of a gallery of 150 labelled images; give k of at most 150");
}

// The images that the protocol knn shows with their nearest, their thumbnails, and the table of predictions.

std::set<int64_t> as_set(const std::vector<int64_t>& values) { return {values.begin(), values.end()}; }

// 0 ... 9 are wrong, 10 ... 19 have no label, 20 ... 99 are right.
TEST(ExampleImages, AreHalfTheSameForAllAndHalfMistakes) {
  std::vector<int64_t> labels(100, 3), predictions(100, 3);
  for (int i = 0; i < 10; ++i) predictions[i] = 2;
  for (int i = 10; i < 20; ++i) labels[i] = kUnknown;
  for (const int64_t count : {0, 1, 8, 9, 24, 85, 500}) {
    const std::vector<int64_t> chosen = example_images(predictions, labels, count, 1);
    const int64_t half = count / 2, all = std::min<int64_t>(count, 90);
    ASSERT_EQ(std::ssize(chosen), all) << count;
    EXPECT_EQ(as_set(chosen).size(), chosen.size());
    const auto middle = chosen.begin() + std::min(half, all);
    EXPECT_TRUE(std::is_sorted(chosen.begin(), middle));
    EXPECT_TRUE(std::is_sorted(middle, chosen.end()));
    const auto is_wrong = [](int64_t i) { return i < 10; };
    const int64_t shared_wrong = std::count_if(chosen.begin(), middle, is_wrong);
    EXPECT_EQ(std::count_if(middle, chosen.end(), is_wrong), std::min<int64_t>(10 - shared_wrong, all - std::min(half, all))) << count;
    EXPECT_TRUE(std::none_of(chosen.begin(), chosen.end(), [](int64_t i) { return i >= 10 && i < 20; }));
  }
  const auto half_of = [](const std::vector<int64_t>& chosen) { return std::vector(chosen.begin(), chosen.begin() + 12); };
  const std::vector<int64_t> one = example_images(predictions, labels, 24, 1), other_seed = example_images(predictions, labels, 24, 2);
  EXPECT_EQ(half_of(one), half_of(other_seed));
  EXPECT_NE(one, other_seed);
  EXPECT_EQ(half_of(one), half_of(example_images(labels, labels, 24, 1))) << "another network";
}

TEST(NearestVoters, AreTheLabelledRowsOfHighestCosineNearestFirst) {
  const KnnGallery gallery{at::tensor({5.f, 0.f, 1.f, 1.f, 0.f, 3.f, 8.f, 1.f, -1.f, 0.f}).view({5, 2}), {0, 1, 1, kUnknown, 0}, 2};
  const at::Tensor queries = at::tensor({2.f, 0.f, 0.f, 1.f}).view({2, 2});
  const auto rows = [&](int64_t k, size_t query) {
    std::vector<int64_t> result;
    const auto nearest = nearest_voters(gallery, queries, k);
    for (const Neighbour& neighbour : nearest[query]) result.push_back(neighbour.row);
    return result;
  };
  EXPECT_EQ(rows(2, 0), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(rows(2, 1), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(rows(9, 0), (std::vector<int64_t>{0, 1, 2, 4}));
  EXPECT_NEAR(nearest_voters(gallery, queries, 2)[0][1].cosine, std::sqrt(0.5), 1e-6);
}

EvaluationInput biased_input() {
  EvaluationInput input = toy_input();
  const auto train = std::make_shared<ToyDataset>(60, 3);
  for (int i = 0; i < 60; ++i) train->set_bias(i, i % 4);
  train->set_label(5, kUnknown);
  const auto test = std::make_shared<ToyDataset>(31, 3, "test");
  for (int i = 0; i < 7; ++i) test->set_label(i, (i + 1) % 3);  // what their pictures are not
  input.train = train;
  input.test = test;
  return input;
}

TEST(KnnExamples, SayWhatWasAskedPredictedAndFound) {
  const EvaluationInput input = biased_input();
  const EvaluationResult result = evaluated(input, "knn", "{examples: 4}");
  const auto list = details(result)["neighbours"]["test"];
  ASSERT_EQ(list.size(), 4u);
  for (size_t i = 0; i < list.size(); ++i) {
    const auto& example = list[i];
    const int64_t query = example["query"];
    EXPECT_EQ(example["label"], input.test->label(query));
    EXPECT_EQ(example["predicted"], result.predictions.at("test")[query]);
    if (i >= 2) {
      EXPECT_NE(example["predicted"], example["label"]) << "the second half is wrong";
    }
    EXPECT_FALSE(example.contains("bias"));
    ASSERT_EQ(example["nearest"].size(), 8u);
    double before = 1;
    for (const auto& near : example["nearest"]) {
      const int64_t id = near["id"];
      EXPECT_NE(id, 5) << "an image without a label does not vote";
      EXPECT_EQ(near["label"], input.train->label(id));
      EXPECT_EQ(near["bias"], id % 4);
      EXPECT_LE(near["cosine"], before);
      before = near["cosine"];
      EXPECT_EQ(result.images.at("train_" + std::to_string(id)).index, id);
    }
    EXPECT_EQ(result.images.at("test_" + std::to_string(query)).dataset, input.test);
  }
}

TEST(KnnExamples, AreLeftOutWhenNoneAreAskedForAndNeverMoreThanImages) {
  const EvaluationResult none = evaluated(biased_input(), "knn", "{examples: 0}");
  EXPECT_FALSE(details(none).contains("neighbours"));
  EXPECT_TRUE(none.images.empty());
  EXPECT_EQ(details(evaluated(biased_input(), "knn"))["neighbours"]["test"].size(), 24u);
  EXPECT_EQ(details(evaluated(biased_input(), "knn", "{examples: 100}"))["neighbours"]["test"].size(), 31u);
  EvaluationInput few = toy_input();
  few.train = std::make_shared<ToyDataset>(5, 3);
  EXPECT_EQ(details(evaluated(few, "knn"))["neighbours"]["test"][0]["nearest"].size(), 5u);
}

TEST(Thumbnail, ShrinksTheLongerSideAndKeepsTheShape) {
  const auto sides = [](int height, int width) {
    const Image small = thumbnail({height, width, 3, std::vector<uint8_t>(static_cast<size_t>(height) * width * 3, 90)});
    EXPECT_EQ(small.pixels.size(), static_cast<size_t>(small.height) * small.width * 3);
    EXPECT_EQ(small.pixels[0], 90);
    return std::pair(small.height, small.width);
  };
  EXPECT_EQ(sides(6, 8), std::pair(6, 8));
  EXPECT_EQ(sides(64, 64), std::pair(64, 64));
  EXPECT_EQ(sides(65, 65), std::pair(64, 64));
  EXPECT_EQ(sides(128, 96), std::pair(64, 48));
  EXPECT_EQ(sides(50, 200), std::pair(16, 64));
  EXPECT_EQ(sides(1, 500), std::pair(1, 64));
}

TEST(PredictionFile, HoldsOneLineForEachEvaluatedImage) {
  EvaluationInput input = biased_input();
  input.valid = std::make_shared<ToyDataset>(4, 3, "held_out");
  const EvaluationResult result = evaluated(input, "knn");
  const TemporaryFolder folder;
  ASSERT_TRUE(write_predictions(folder / "knn.csv", result, input));
  std::ifstream file(folder / "knn.csv");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 1u + 4 + 31);
  EXPECT_EQ(lines[0], "split,filenames,labels,biases,predictions");
  EXPECT_EQ(lines[2], "valid,toy/1.png,1,-1,1");
  EXPECT_EQ(lines[5], "test,toy/0.png,1,-1,0");
  EXPECT_FALSE(write_predictions(folder / "none.csv", EvaluationResult(), input));
  EXPECT_FALSE(std::ifstream(folder / "none.csv").is_open());
}

TEST(LinearSupcon, PredictsWithTheEpochThatItReports) {
  const EvaluationInput input = toy_input();
  const auto result =
      evaluated(input, "linear_supcon", "{epochs: 10, batch_size: 8, learning_rate: 30, momentum: 0, gamma: 1, views: eval}");
  const std::vector<int64_t>& predictions = result.predictions.at("test");
  int64_t right = 0;
  for (size_t i = 0; i < predictions.size(); ++i) right += predictions[i] == input.test->label(static_cast<int64_t>(i));
  EXPECT_DOUBLE_EQ(static_cast<double>(right) / 31, result.metrics.at("test.linear_acc1"));
}

}  // namespace knn_test
}  // namespace debias
