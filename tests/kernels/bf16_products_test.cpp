// Packed products against sums in double over the same rounded values. Sizes straddle rows of a register block (8), vectors (16), strips
// (32) and pairs. A float32 sum of k terms is off by at most k 2^-24 of the sum of their sizes. Machines without the instruction skip.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "debias/kernels/cpu/bf16_exponentials.h"
#include "debias/kernels/cpu/bf16_products.h"
#include "debias/kernels/cpu/tile_size.h"

namespace debias::kernels::cpu {
namespace bf16_products_test {

float widened(uint32_t half) {
  const uint32_t bits = half << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// To nearest, ties to even, by way of double: the candidates are the neighbours that lose the lower 16 bits.
float rounded(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const uint32_t below = bits >> 16, above = below + 1;
  const double down = std::abs(double{value} - widened(below)), up = std::abs(widened(above) - double{value});
  return down < up || (down == up && below % 2 == 0) ? widened(below) : widened(above);
}

std::vector<float> values(int64_t count, float size, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> in(-size, size);
  std::vector<float> all(static_cast<size_t>(count));
  for (float& value : all) value = in(generator);
  return all;
}

std::vector<uint32_t> score_panel(const std::vector<float>& z, int64_t n, int64_t dim) {
  std::vector<uint32_t> words(static_cast<size_t>(bf16::ScorePanel::words(n, dim)), 0xffffffffu);  // NaN where it is not written
  bf16::ScorePanel::pack(z.data(), n, dim, words.data());
  return words;
}

struct Weights {
  std::vector<uint32_t> by_rows = std::vector<uint32_t>(kTile * kTile / 2, 0xffffffffu), by_columns = by_rows;
  bf16::PackedWeights packed() { return {by_rows.data(), by_columns.data()}; }
};

struct Shape {
  int64_t m, n, dim;
};

void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.m << " x " << shape.n << ", D " << shape.dim; }

class Bf16Products : public testing::TestWithParam<Shape> {
 protected:
  void SetUp() override {
    if (!bf16::available()) GTEST_SKIP() << "no AVX-512 BF16 here";
  }
  const Shape shape = GetParam();
  const int64_t m = shape.m, n = shape.n, dim = shape.dim;
  const std::vector<float> a = values(m * dim, 1, 1), b = values(n * dim, 1, 2);
};

TEST_P(Bf16Products, ScoresAreSumsOverRoundedValues) {
  const auto own = score_panel(a, m, dim), other = score_panel(b, n, dim);
  std::vector<float> out(kTile * kTile, 7);
  bf16::scores(m, n, dim, 0.5f, own.data(), other.data(), out.data(), kTile);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double exact = 0, size = 0;
      for (int64_t d = 0; d < dim; ++d) {
        const double term = double{rounded(a[i * dim + d])} * rounded(b[j * dim + d]);
        exact += term;
        size += std::abs(term);
      }
      ASSERT_NEAR(out[i * kTile + j], 0.5 * exact, 0.5 * size * static_cast<double>(dim) * 6e-8) << i << ", " << j;
    }
  }
}

TEST_P(Bf16Products, WeightsPullBothWays) {
  std::vector<float> w(kTile * kTile, 0);
  const auto dense = values(m * n, 1, 3);
  for (int64_t i = 0; i < m; ++i) std::copy_n(dense.begin() + i * n, n, w.begin() + i * kTile);
  Weights weights;
  bf16::pack_weights(w.data(), m, n, weights.packed());

  // The blocks lie inside panels of more rows, as a tile's do.
  const auto pulled = [&](const std::vector<float>& z, int64_t rows, bool columns) {
    std::vector<float> all(static_cast<size_t>((kTile + rows) * dim), NAN);
    std::copy(z.begin(), z.end(), all.begin() + kTile * dim);
    std::vector<uint32_t> panel(static_cast<size_t>(bf16::PullPanel::words(kTile + rows, dim)), 0xffffffffu);
    bf16::PullPanel::pack(all.data(), kTile + rows, dim, panel.data());
    const bf16::PulledRows block = {panel.data() + kTile / 2 * bf16::kStrip, bf16::PullPanel::strip_words(kTile + rows)};
    std::vector<float> out(static_cast<size_t>((columns ? n : m) * dim + 1), 2);
    if (columns) {
      bf16::pull_columns(m, n, dim, weights.packed(), block, out.data());
    } else {
      bf16::pull_rows(m, n, dim, weights.packed(), block, true, out.data());
      std::vector<float> fresh(out.size(), 2);
      bf16::pull_rows(m, n, dim, weights.packed(), block, false, fresh.data());
      for (size_t e = 0; e + 1 < out.size(); ++e) EXPECT_NEAR(fresh[e] + 2, out[e], 1e-4);
    }
    EXPECT_EQ(out.back(), 2) << "written beyond the end";
    return out;
  };
  const auto rows = pulled(b, n, false), columns = pulled(a, m, true);
  const auto weight = [&](int64_t i, int64_t j) { return double{rounded(dense[i * n + j])}; };
  for (int64_t d = 0; d < dim; ++d) {
    for (int64_t i = 0; i < m; ++i) {
      double exact = 2;
      for (int64_t j = 0; j < n; ++j) exact += weight(i, j) * rounded(b[j * dim + d]);
      ASSERT_NEAR(rows[i * dim + d], exact, static_cast<double>(n + 4) * 2e-6) << i << ", " << d;
    }
    for (int64_t j = 0; j < n; ++j) {
      double exact = 2;
      for (int64_t i = 0; i < m; ++i) exact += weight(i, j) * rounded(a[i * dim + d]);
      ASSERT_NEAR(columns[j * dim + d], exact, static_cast<double>(m + 4) * 2e-6) << j << ", " << d;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Bf16Products,
                         testing::Values(Shape{1, 1, 1}, Shape{2, 1, 3}, Shape{7, 33, 16}, Shape{8, 32, 17}, Shape{9, 31, 32},
                                         Shape{64, 65, 33}, Shape{255, 256, 5}, Shape{256, 255, 128}, Shape{31, 100, 65},
                                         Shape{3, 2, 4096}));

class Bf16Tiles : public testing::TestWithParam<Shape> {
 protected:
  void SetUp() override {
    if (!bf16::available()) GTEST_SKIP() << "no AVX-512 BF16 here";
  }
  const int64_t m = GetParam().m, n = GetParam().n;
  const bf16::Exponent exponent{1.5f, 40};
  const std::vector<float> s = values(kTile * kTile, 27, 4);  // exponents in [-80.5, 0.5]

  double exact(int64_t i, int64_t j) const { return std::exp(double{exponent.k} * s[i * kTile + j] - exponent.shift); }
};

TEST_P(Bf16Tiles, ExponentialsAreFormedSummedAndKept) {
  std::vector<float> e(kTile * kTile, 7), rows(kTile, 7), columns(kTile, 1);
  std::vector<uint16_t> kept(kTile * kTile, 0xffff), kept_of_sums = kept;
  bf16::exponentials(s.data(), m, n, exponent, e.data(), kept.data());
  bf16::exponential_sums(s.data(), m, n, exponent, kept_of_sums.data(), rows.data(), columns.data());
  EXPECT_EQ(kept, kept_of_sums);
  std::vector<double> by_columns(static_cast<size_t>(n), 1);
  for (int64_t i = 0; i < m; ++i) {
    double row = 0;
    for (int64_t j = 0; j < n; ++j) {
      const double value = exact(i, j);
      ASSERT_NEAR(e[i * kTile + j] / value, 1, 2e-5) << i << ", " << j;  // 120 2^-24, the exponent's rounding, and some
      ASSERT_EQ(widened(kept[i * kTile + j]), rounded(e[i * kTile + j]));
      row += value;
      by_columns[static_cast<size_t>(j)] += value;
    }
    ASSERT_NEAR(rows[static_cast<size_t>(i)] / row, 1, 3e-5);
    for (int64_t j = n; j < (n + 31) / 32 * 32; ++j) ASSERT_EQ(kept[i * kTile + j], 0);
  }
  for (int64_t j = 0; j < n; ++j) ASSERT_NEAR(columns[static_cast<size_t>(j)] / by_columns[static_cast<size_t>(j)], 1, 3e-5);
  if (n < kTile) {
    EXPECT_EQ(columns[static_cast<size_t>(n)], 1) << "written beyond the end";
  }
}

TEST_P(Bf16Tiles, WeightsOfKeptExponentialsAreTheirProductsPacked) {
  std::vector<uint16_t> kept(kTile * kTile, 0xffff);
  bf16::exponentials(s.data(), m, n, exponent, nullptr, kept.data());
  const auto a = values(m, 1, 5), b = values(n, 1, 6);
  std::vector<float> e(kTile * kTile), w(kTile * kTile, 0);
  bf16::widen(kept.data(), m, e.data());
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) w[i * kTile + j] = e[i * kTile + j] * (a[i] + b[j]);
  }
  Weights found, expected;
  bf16::weigh(kept.data(), m, n, a.data(), b.data(), found.packed());
  bf16::pack_weights(w.data(), m, n, expected.packed());
  const auto without_signs_of_zero = [](std::vector<uint32_t> words) {
    for (uint32_t& word : words) {
      if ((word & 0xffff) == 0x8000) word &= 0xffff0000;
      if (word >> 16 == 0x8000) word &= 0xffff;
    }
    return words;
  };
  EXPECT_EQ(without_signs_of_zero(found.by_rows), without_signs_of_zero(expected.by_rows));
  EXPECT_EQ(without_signs_of_zero(found.by_columns), without_signs_of_zero(expected.by_columns));
}

INSTANTIATE_TEST_SUITE_P(Shapes, Bf16Tiles,
                         testing::Values(Shape{1, 1, 0}, Shape{4, 16, 0}, Shape{5, 17, 0}, Shape{7, 31, 0}, Shape{8, 33, 0},
                                         Shape{255, 256, 0}, Shape{256, 255, 0}));

TEST(Bf16Rounding, TiesGoToEven) {
  if (!bf16::available()) GTEST_SKIP() << "no AVX-512 BF16 here";
  const float step = 1.0f / 128;  // between neighbours above 1
  const std::vector<float> z = {1 + step / 2, 1 + 3 * step / 2, -1 - step / 2, 1 + step / 2 + step / 1024, 0, -0.0f, 3e38f, 1e-30f};
  const auto words = score_panel(z, 1, 8);
  for (size_t d = 0; d < 8; ++d) {
    const uint32_t half = words[d / 2 * bf16::kStrip] >> (d % 2 * 16) & 0xffff;
    EXPECT_EQ(widened(half), rounded(z[d])) << z[d];
  }
  EXPECT_EQ(rounded(1 + step / 2), 1);
  EXPECT_EQ(rounded(1 + 3 * step / 2), 1 + 2 * step);
}

}  // namespace bf16_products_test
}  // namespace debias::kernels::cpu
