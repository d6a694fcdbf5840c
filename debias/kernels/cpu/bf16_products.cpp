#include "debias/kernels/cpu/bf16_products.h"

#include "debias/kernels/cpu/bf16_vectors.h"
#include "debias/kernels/cpu/tile_size.h"

namespace debias::kernels::cpu::bf16 {

#if defined(__x86_64__)

namespace {

constexpr int64_t kRows = 8;  // of a block of sums: with two vectors a row 16 sums, enough to hide the instruction's latency

// One side of a product by words: word(row, pair) = at[row * by_row + pair * by_pair].
struct Words {
  const uint32_t* at;
  int64_t by_row, by_pair;
};

// The products of kRows rows of a with the first vectors of a strip.
template <int kVectors>
DEBIAS_BF16_INLINE void multiply(Words a, const uint32_t* strip, int64_t pairs, __m512 (&sums)[kRows][kVectors]) {
#pragma GCC unroll 8
  for (int64_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_setzero_ps();
  }
  for (int64_t p = 0; p < pairs; ++p, strip += kStrip, a.at += a.by_pair) {
    __m512bh b[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) b[v] = (__m512bh)_mm512_loadu_si512(strip + v * kLanes);
#pragma GCC unroll 8
    for (int64_t r = 0; r < kRows; ++r) {
      const auto own = (__m512bh)_mm512_set1_epi32(static_cast<int>(a.at[r * a.by_row]));
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_dpbf16_ps(sums[r][v], own, b[v]);
    }
  }
}

// out [rows, columns] of one strip.
template <int kVectors>
DEBIAS_BF16_INLINE void pull_strip(Words a, const uint32_t* strip, int64_t rows, int64_t columns, int64_t pairs, bool add, float* out,
                                   int64_t ld) {
  for (int64_t i = 0; i < rows; i += kRows) {
    __m512 sums[kRows][kVectors];
    multiply({a.at + i * a.by_row, a.by_row, a.by_pair}, strip, pairs, sums);
#pragma GCC unroll 8
    for (int64_t r = 0; r < kRows; ++r) {
      if (i + r >= rows) break;
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        const __mmask16 there = first_lanes(columns - v * kLanes);
        float* to = out + (i + r) * ld + v * kLanes;
        const __m512 before = add ? _mm512_maskz_loadu_ps(there, to) : _mm512_setzero_ps();
        _mm512_mask_storeu_ps(to, there, _mm512_add_ps(before, sums[r][v]));
      }
    }
  }
}

DEBIAS_BF16 void pull(Words a, PulledRows z, int64_t rows, int64_t pairs, int64_t dim, bool add, float* out) {
  for (int64_t d = 0; d < dim; d += kStrip, z.first += z.strip_words) {
    const int64_t columns = std::min(kStrip, dim - d);
    if (columns > kLanes) {
      pull_strip<2>(a, z.first, rows, columns, pairs, add, out + d, dim);
    } else {
      pull_strip<1>(a, z.first, rows, columns, pairs, add, out + d, dim);
    }
  }
}

}  // namespace

DEBIAS_BF16 void scores(int64_t m, int64_t n, int64_t dim, float alpha, const uint32_t* a, const uint32_t* b, float* out, int64_t ld) {
  const int64_t pairs = ScorePanel::pairs(dim);
  const __m512 factor = _mm512_set1_ps(alpha);
  for (int64_t j = 0; j < n; j += kStrip) {
    for (int64_t i = 0; i < m; i += kRows) {
      __m512 sums[kRows][2];
      multiply({a + i / kStrip * kStrip * pairs + i % kStrip, 1, kStrip}, b + j * pairs, pairs, sums);
#pragma GCC unroll 8
      for (int64_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
        for (int v = 0; v < 2; ++v) _mm512_storeu_ps(out + (i + r) * ld + j + v * kLanes, _mm512_mul_ps(factor, sums[r][v]));
      }
    }
  }
}

void pull_rows(int64_t m, int64_t n, int64_t dim, PackedWeights w, PulledRows z, bool add, float* out) {
  pull({w.by_rows, kTile / 2, 1}, z, m, (n + 1) / 2, dim, add, out);
}

void pull_columns(int64_t m, int64_t n, int64_t dim, PackedWeights w, PulledRows z, float* out) {
  pull({w.by_columns, 1, kTile}, z, n, (m + 1) / 2, dim, true, out);
}

#else

void scores(int64_t, int64_t, int64_t, float, const uint32_t*, const uint32_t*, float*, int64_t) {}
void pull_rows(int64_t, int64_t, int64_t, PackedWeights, PulledRows, bool, float*) {}
void pull_columns(int64_t, int64_t, int64_t, PackedWeights, PulledRows, float*) {}

#endif

}  // namespace debias::kernels::cpu::bf16
