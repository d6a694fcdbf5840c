// Products of rows with matrices against loops. A sum of k products of numbers in [-1, 1] is off by at most k 2^-52 times k.
#include "debias/kernels/gram_products.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace debias::kernels {
namespace gram_products_test {

std::vector<double> numbers(int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> in(-1, 1);
  std::vector<double> all(static_cast<size_t>(count));
  for (double& value : all) value = in(generator);
  return all;
}

double tolerance(int64_t terms) { return static_cast<double>(terms * terms + 1) * 0x1p-52; }

TEST(GramProducts, AreThoseOfLoops) {
  for (const int64_t n : {1, 2, 7, 33}) {
    for (const int64_t d : {1, 3, 8, 17}) {
      const auto rows = numbers(n * d, 1), square = numbers(d * d, 2), others = numbers(n * d, 5);
      std::vector<double> gram_out(static_cast<size_t>(d * d), 9), cross_out = gram_out, times_out(static_cast<size_t>(n * d), 9);
      gram(n, d, rows.data(), gram_out.data());
      cross(n, d, rows.data(), others.data(), cross_out.data());
      times_square(n, d, rows.data(), square.data(), times_out.data());
      for (int64_t i = 0; i < d; ++i) {
        for (int64_t j = 0; j < d; ++j) {
          double sum = 0, crossed = 0;
          for (int64_t r = 0; r < n; ++r) {
            sum += rows[r * d + i] * rows[r * d + j];
            crossed += rows[r * d + i] * others[r * d + j];
          }
          EXPECT_NEAR(gram_out[i * d + j], sum, tolerance(n)) << n << " x " << d;
          EXPECT_NEAR(cross_out[i * d + j], crossed, tolerance(n)) << n << " x " << d;
        }
      }
      for (int64_t r = 0; r < n; ++r) {
        for (int64_t j = 0; j < d; ++j) {
          double sum = 0;
          for (int64_t i = 0; i < d; ++i) sum += rows[r * d + i] * square[i * d + j];
          EXPECT_NEAR(times_out[r * d + j], sum, tolerance(d)) << n << " x " << d;
        }
      }
    }
  }
}

TEST(GramProducts, AddScaledAdds) {
  for (const int64_t count : {1, 8, 19}) {
    const auto values = numbers(count, 3), before = numbers(count, 4);
    auto out = before;
    add_scaled(count, -0.3, values.data(), out.data());
    for (int64_t i = 0; i < count; ++i) EXPECT_NEAR(out[i], before[i] - 0.3 * values[i], 0x1p-52);
  }
}

}  // namespace gram_products_test
}  // namespace debias::kernels
