// Against a naive double loop over sizes that straddle the blocks; what ties, unlabelled rows and small temperatures do.
#include "debias/evaluate/protocols/knn.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "debias/core/philox.h"
#include "debias/data/dataset.h"
#include "debias/evaluate/accuracy.h"
#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"

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

// Widths and gallery sizes on both sides of the screen's groups of 16 rows and 16 dimensions; 193 queries do not fill its last three.
TEST(Knn, ScreeningKeepsTheExactNeighbours) {
  if (!screening_supported()) GTEST_SKIP() << "this processor has no AVX2";
  for (const int64_t dim : {4, 15, 16, 17, 48, 130}) {
    for (const int64_t count : {15, 16, 17, 333}) {
      const KnnGallery gallery{random_rows(count, dim, 11) + 1, random_labels(count, 5, 2), 5};
      const at::Tensor queries = random_rows(193, dim, 12) + 1;
      const auto labels = random_labels(193, 5, 6);
      for (const int64_t k : {1, 7, 15}) {
        const KnnResult exact = knn(gallery, queries, labels, k, 0.1, {.search = KnnSearch::kExact});
        const KnnResult found = knn(gallery, queries, labels, k, 0.1, screened());
        EXPECT_EQ(found.predictions, exact.predictions) << "width " << dim << ", gallery " << count << ", k " << k;
      }
    }
  }
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
  EXPECT_EQ(error_of(ErrorKind::kNumeric,
                     [&] {
                       knn(gallery, queries, {0, 1}, 3, 0.5);
                     }),
            "knn: a row of the queries is not finite; check the encoder's weights");
  gallery.values[3][0] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(error_of(ErrorKind::kNumeric,
                     [&] {
                       knn(gallery, random_rows(2, 3, 5), {0, 1}, 3, 0.5);
                     }),
            "knn: a row of the gallery is not finite; check the encoder's weights");
}

TEST(Knn, KIsClampedOnlyWhenNobodyAskedForIt) {
  EXPECT_EQ(resolve_k(KnnOptions(), 1000), 200);
  EXPECT_EQ(resolve_k(KnnOptions(), 150), 150);
  EXPECT_EQ(resolve_k(KnnOptions{.k = 150}, 150), 150);
  EXPECT_EQ(usage_error_of([] { resolve_k(KnnOptions{.k = 151}, 150); }),
            "knn: k: 151 neighbours of a gallery of 150 labelled images; give k of at most 150");
}

}  // namespace knn_test
}  // namespace debias
