// Convolutions in Winograd's tiles against loops in double, and what the order of their sums may not depend on.
#include "debias/kernels/winograd.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/image/instruction_sets.h"

namespace debias::kernels {
namespace winograd_test {

struct Case {
  explicit Case(const ConvolutionShape& of) : shape(of), x(pixels() * of.in), dy(pixels() * of.out), weight(9 * of.in * of.out) {
    std::mt19937 generator(7);
    std::normal_distribution<float> number;
    for (auto* values : {&x, &dy, &weight}) {
      for (float& value : *values) value = number(generator);
    }
  }
  size_t pixels() const { return static_cast<size_t>(shape.images * shape.height * shape.width); }

  // work(pixel of y, pixel of x, tap)
  template <class Work>
  void each_tap(const Work& work) const {
    for (int64_t n = 0; n < shape.images; ++n) {
      for (int64_t i = 0; i < shape.height; ++i) {
        for (int64_t j = 0; j < shape.width; ++j) {
          for (int64_t tap = 0; tap < 9; ++tap) {
            const int64_t y = i + tap / 3 - 1, z = j + tap % 3 - 1;
            if (y < 0 || y >= shape.height || z < 0 || z >= shape.width) continue;
            work((n * shape.height + i) * shape.width + j, (n * shape.height + y) * shape.width + z, tap);
          }
        }
      }
    }
  }
  std::vector<double> direct_map() const {
    std::vector<double> y(dy.size());
    each_tap([&](int64_t to, int64_t from, int64_t tap) {
      for (int64_t c = 0; c < shape.in; ++c) {
        for (int64_t k = 0; k < shape.out; ++k) {
          y[to * shape.out + k] += double(x[from * shape.in + c]) * weight[(tap * shape.in + c) * shape.out + k];
        }
      }
    });
    return y;
  }
  std::vector<double> direct_gradient() const {
    std::vector<double> dw(weight.size());
    each_tap([&](int64_t to, int64_t from, int64_t tap) {
      for (int64_t c = 0; c < shape.in; ++c) {
        for (int64_t k = 0; k < shape.out; ++k) {
          dw[(tap * shape.in + c) * shape.out + k] += double(x[from * shape.in + c]) * dy[to * shape.out + k];
        }
      }
    });
    return dw;
  }
  std::vector<float> map() const {
    std::vector<float> y(dy.size(), NAN);
    winograd_convolution(shape, x.data(), weight.data(), y.data());
    return y;
  }
  std::vector<float> gradient() const {
    std::vector<float> dw(weight.size(), NAN);
    winograd_weight_gradient(shape, x.data(), dy.data(), dw.data());
    return dw;
  }

  ConvolutionShape shape;
  std::vector<float> x, dy, weight;
};

void expect_near(const std::vector<float>& found, const std::vector<double>& expected) {
  double largest = 0, error = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    error = std::isfinite(found[i]) ? std::max(error, std::abs(found[i] - expected[i])) : INFINITY;
  }
  EXPECT_LT(error, 4e-6 * largest);
}

TEST(Winograd, IsTheSumOverTaps) {
  const Case whole({3, 8, 12, 16, 32}), cut({2, 5, 7, 48, 16}), thin({1, 1, 2, 16, 16}), many({130, 4, 4, 32, 48});
  for (const Case* of : {&whole, &cut, &thin, &many}) {
    const auto map = of->direct_map(), gradient = of->direct_gradient();
    for_each_instruction_set([&] {
      expect_near(of->map(), map);
      expect_near(of->gradient(), gradient);
    });
  }
}

TEST(Winograd, HasTheSameBytesForEveryNumberOfThreadsAndInEveryBatch) {
  const Case many({40, 9, 8, 64, 128});
  const auto map = many.map(), gradient = many.gradient();
  const int before = omp_get_max_threads();
  for (const int threads : {1, 2, 3, 40}) {
    omp_set_num_threads(threads);
    EXPECT_EQ(many.map(), map);
    EXPECT_EQ(many.gradient(), gradient);
  }
  omp_set_num_threads(before);
  Case one = many;
  one.shape.images = 1;
  one.dy.resize(one.pixels() * 128);
  EXPECT_EQ(one.map(), std::vector<float>(map.begin(), map.begin() + static_cast<int64_t>(one.dy.size())));
}

TEST(Winograd, PaysForWholeVectorsOfChannelsAndManyFilledTiles) {
  EXPECT_TRUE(winograd_pays({256, 32, 32, 16, 16}));
  EXPECT_TRUE(winograd_pays({256, 4, 4, 128, 128}));
  EXPECT_FALSE(winograd_pays({256, 32, 32, 3, 16}));
  EXPECT_FALSE(winograd_pays({256, 32, 32, 24, 16}));
  EXPECT_FALSE(winograd_pays({1, 7, 7, 512, 512}));
  EXPECT_FALSE(winograd_pays({256, 5, 5, 16, 16}));
  EXPECT_FALSE(winograd_pays({0, 32, 32, 16, 16}));
}

}  // namespace winograd_test
}  // namespace debias::kernels
