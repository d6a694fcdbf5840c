// Losses, residuals and their sums against sums in double. Numbers of rows straddle vectors (16).
#include "debias/kernels/softmax_residuals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <ostream>
#include <random>
#include <vector>

namespace debias::kernels {
namespace softmax_residuals_test {

struct Shape {
  int64_t heads, classes, rows;
  float size;  // of the logits
};

void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.heads << " heads, " << shape.classes << " classes, " << shape.rows << " rows, logits up to " << shape.size;
}

struct Sums {
  std::vector<double> losses, residuals;
};

class SoftmaxResiduals : public testing::TestWithParam<Shape> {
 protected:
  SoftmaxResiduals() {
    std::mt19937 generator(5);
    std::uniform_real_distribution<float> in(-1, 1);
    logits.resize(static_cast<size_t>(shape.heads * shape.classes * shape.rows));
    for (float& x : logits) x = shape.size * in(generator);
    weights.resize(static_cast<size_t>(shape.heads * shape.rows));
    for (float& w : weights) w = std::abs(in(generator));
    weights.front() = 0;
    std::uniform_int_distribution<int32_t> one(0, static_cast<int32_t>(shape.classes - 1));
    labels.resize(static_cast<size_t>(shape.rows));
    for (int32_t& y : labels) y = one(generator);
  }

  // Of `x`, which takes the residuals.
  Sums found(std::vector<float>& x) const {
    Sums sums{std::vector<double>(static_cast<size_t>(shape.heads)), std::vector<double>(static_cast<size_t>(shape.heads * shape.classes))};
    const HeadLogits all{shape.heads, shape.classes, shape.rows, x.data(), labels.data(), weights.data()};
    add_softmax_residuals(all, sums.losses.data(), sums.residuals.data());
    return sums;
  }

  size_t place(int64_t head, int64_t c, int64_t row) const { return static_cast<size_t>((head * shape.classes + c) * shape.rows + row); }

  const Shape shape = GetParam();
  std::vector<float> logits, weights;
  std::vector<int32_t> labels;
};

TEST_P(SoftmaxResiduals, EqualSumsInDouble) {
  std::vector<float> x = logits;
  const Sums sums = found(x);
  for (int64_t p = 0; p < shape.heads; ++p) {
    double loss = 0, size = 0;
    std::vector<double> residuals(static_cast<size_t>(shape.classes));
    for (int64_t i = 0; i < shape.rows; ++i) {
      double total = 0;
      const double w = weights[static_cast<size_t>(p * shape.rows + i)];
      const int32_t y = labels[static_cast<size_t>(i)];
      for (int64_t c = 0; c < shape.classes; ++c) total += std::exp(static_cast<double>(logits[place(p, c, i)]));
      const double of_row = w * (std::log(total) - logits[place(p, y, i)]);
      loss += of_row;
      size += std::abs(of_row) + w * shape.size;
      for (int64_t c = 0; c < shape.classes; ++c) {
        const double residual = w * (std::exp(static_cast<double>(logits[place(p, c, i)])) / total - (c == y ? 1 : 0));
        residuals[static_cast<size_t>(c)] += residual;
        EXPECT_NEAR(x[place(p, c, i)], residual, 1e-6) << "head " << p << ", class " << c << ", row " << i;
      }
    }
    EXPECT_NEAR(sums.losses[static_cast<size_t>(p)], loss, 1e-6 * size) << "head " << p;
    for (int64_t c = 0; c < shape.classes; ++c) {
      EXPECT_NEAR(sums.residuals[static_cast<size_t>(p * shape.classes + c)], residuals[static_cast<size_t>(c)],
                  1e-6 * static_cast<double>(shape.rows));
    }
  }
}

TEST_P(SoftmaxResiduals, AreAddedToWhatIsThere) {
  std::vector<float> x = logits, again = logits;
  const Sums once = found(x);
  Sums twice = once;
  const HeadLogits all{shape.heads, shape.classes, shape.rows, again.data(), labels.data(), weights.data()};
  add_softmax_residuals(all, twice.losses.data(), twice.residuals.data());
  EXPECT_NEAR(twice.losses.back(), 2 * once.losses.back(), 1e-12 * std::abs(once.losses.back()));
  EXPECT_NEAR(twice.residuals.back(), 2 * once.residuals.back(), 1e-12 * static_cast<double>(shape.rows));
}

TEST_P(SoftmaxResiduals, ShowNaN) {
  std::vector<float> x = logits;
  x[place(shape.heads - 1, shape.classes - 1, shape.rows - 1)] = std::numeric_limits<float>::quiet_NaN();
  const Sums sums = found(x);
  EXPECT_TRUE(std::isnan(sums.losses.back()));
  for (int64_t p = 0; p + 1 < shape.heads; ++p) EXPECT_TRUE(std::isfinite(sums.losses[static_cast<size_t>(p)])) << "head " << p;
}

INSTANTIATE_TEST_SUITE_P(Shapes, SoftmaxResiduals,
                         testing::Values(Shape{1, 2, 1, 3}, Shape{1, 10, 33, 3}, Shape{3, 4, 16, 1}, Shape{5, 3, 47, 80},
                                         Shape{2, 7, 501, 10}));

}  // namespace softmax_residuals_test
}  // namespace debias::kernels
