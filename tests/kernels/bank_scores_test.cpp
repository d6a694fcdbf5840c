// Scores of picked rows and their gradient against sums in double. Sizes straddle vectors (16), the rows taken together (4) and the blocks
// of the bank (1 MiB). A float32 sum of k terms is off by at most k 2^-24 of the sum of their sizes.
#include "debias/kernels/bank_scores.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <ostream>
#include <random>
#include <vector>

namespace debias::kernels {
namespace bank_scores_test {

struct Shape {
  int64_t n, dim, anchors, each;
};

void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.n << " x " << shape.dim << ", " << shape.anchors << " anchors x " << shape.each;
}

std::vector<float> values(int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> in(-1, 1);
  std::vector<float> all(static_cast<size_t>(count));
  for (float& value : all) value = in(generator);
  return all;
}

std::vector<int32_t> some_ids(const Shape& shape) {
  std::mt19937 generator(3);
  std::uniform_int_distribution<int32_t> in(0, static_cast<int32_t>(shape.n - 1));
  std::vector<int32_t> all(static_cast<size_t>(shape.anchors * shape.each));
  for (int32_t& id : all) id = in(generator);
  all.back() = static_cast<int32_t>(shape.n - 1);
  all.front() = 0;
  return all;
}

class BankScores : public testing::TestWithParam<Shape> {
 protected:
  const Shape shape = GetParam();
  const int64_t dim = shape.dim, each = shape.each;
  const std::vector<float> rows = values(shape.n * dim, 1), f = values(shape.anchors * dim, 2);
  const std::vector<int32_t> ids = some_ids(shape);
  const BankRows bank{rows.data(), shape.n, dim};
  const BankPicks picks{ids.data(), shape.anchors, each};
  double row(int64_t pick, int64_t d) const { return rows[static_cast<size_t>(ids[static_cast<size_t>(pick)] * dim + d)]; }
};

TEST_P(BankScores, AreProductsWithThePickedRows) {
  std::vector<float> scores(ids.size(), std::numeric_limits<float>::quiet_NaN());
  bank_scores_forward(bank, picks, f.data(), 2.5f, scores.data());
  for (int64_t pick = 0; pick < shape.anchors * each; ++pick) {
    double exact = 0, size = 0;
    for (int64_t d = 0; d < dim; ++d) {
      const double term = row(pick, d) * f[static_cast<size_t>(pick / each * dim + d)];
      exact += term;
      size += std::abs(term);
    }
    ASSERT_NEAR(scores[static_cast<size_t>(pick)], 2.5 * exact, 2.5 * size * static_cast<double>(dim + 1) * 0x1p-24) << pick;
  }
}

TEST_P(BankScores, GradientIsTheWeightedSumOfThePickedRows) {
  const std::vector<float> grads = values(shape.anchors * each, 4);
  std::vector<float> df(f.size(), std::numeric_limits<float>::quiet_NaN());
  bank_scores_backward(bank, picks, grads.data(), 2.5f, df.data());
  for (int64_t i = 0; i < shape.anchors; ++i) {
    for (int64_t d = 0; d < dim; ++d) {
      double exact = 0, size = 0;
      for (int64_t pick = i * each; pick < (i + 1) * each; ++pick) {
        const double term = row(pick, d) * grads[static_cast<size_t>(pick)];
        exact += term;
        size += std::abs(term);
      }
      ASSERT_NEAR(df[static_cast<size_t>(i * dim + d)], 2.5 * exact, 2.5 * size * static_cast<double>(each + 1) * 0x1p-24)
          << i << ", " << d;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, BankScores,
                         testing::Values(Shape{1, 1, 1, 1}, Shape{5, 3, 2, 3}, Shape{9, 16, 3, 4}, Shape{40, 17, 5, 9},
                                         Shape{64, 33, 1, 13}, Shape{2048, 128, 3, 100}, Shape{2049, 128, 3, 100}, Shape{7000, 130, 7, 301},
                                         Shape{100, 128, 4, 1000}));

}  // namespace bank_scores_test
}  // namespace debias::kernels
