#include "debias/kernels/cpu/bf16_exponentials.h"

#include "debias/kernels/cpu/bf16_vectors.h"
#include "debias/kernels/cpu/tile_size.h"

namespace debias::kernels::cpu::bf16 {

#if defined(__x86_64__)

namespace {

// e^x = 2^n 2^f with n whole and |f| <= 1/2; 2^f by the polynomial of degree 5 with constant 1 of least relative error, 9.2e-8.
struct Exponential {
  __m512 factor, offset;

  DEBIAS_BF16 explicit Exponential(Exponent exponent) {
    constexpr float kLog2E = 1.44269504f;
    factor = _mm512_set1_ps(exponent.k * kLog2E);
    offset = _mm512_set1_ps(-exponent.shift * kLog2E);
  }

  DEBIAS_BF16_INLINE __m512 operator()(__m512 s) const {
    const __m512 x = _mm512_fmadd_ps(s, factor, offset), whole = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m512 f = _mm512_sub_ps(x, whole);
    __m512 power = _mm512_fmadd_ps(_mm512_set1_ps(1.32647272e-3f), f, _mm512_set1_ps(9.67151281e-3f));
    power = _mm512_fmadd_ps(power, f, _mm512_set1_ps(5.55073374e-2f));
    power = _mm512_fmadd_ps(power, f, _mm512_set1_ps(2.40222421e-1f));
    power = _mm512_fmadd_ps(power, f, _mm512_set1_ps(6.93146978e-1f));
    power = _mm512_fmadd_ps(power, f, _mm512_set1_ps(1.0f));
    return _mm512_scalef_ps(power, whole);
  }
};

DEBIAS_BF16_INLINE void keep(__m512 e, uint16_t* to) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), (__m256i)_mm512_cvtneps_pbh(e));
}

DEBIAS_BF16_INLINE __m512 widened(const uint16_t* from) {
  const __m512i low = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  return _mm512_castsi512_ps(_mm512_slli_epi32(low, 16));
}

// kRows rows at a time spare the columns' sums loads and stores.
template <int kRows>
DEBIAS_BF16_INLINE void sum_rows(const float* s, int64_t n, const Exponential& exponential, uint16_t* kept, float* rows, float* columns) {
  __m512 sums[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) sums[r] = _mm512_setzero_ps();
  const int64_t padded = (n + kStrip - 1) / kStrip * kStrip;
  for (int64_t j = 0; j < padded; j += kLanes) {
    const __mmask16 there = first_lanes(n - j);
    __m512 column = _mm512_maskz_loadu_ps(there, columns + j);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const __m512 e = _mm512_maskz_mov_ps(there, exponential(_mm512_loadu_ps(s + r * kTile + j)));
      sums[r] = _mm512_add_ps(sums[r], e);
      column = _mm512_add_ps(column, e);
      if (kept != nullptr) keep(e, kept + r * kTile + j);
    }
    _mm512_mask_storeu_ps(columns + j, there, column);
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) rows[r] = _mm512_reduce_add_ps(sums[r]);
}

}  // namespace

DEBIAS_BF16 void exponentials(const float* s, int64_t m, int64_t n, Exponent exponent, float* out, uint16_t* kept) {
  const Exponential exponential(exponent);
  const int64_t padded = (n + kStrip - 1) / kStrip * kStrip;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < padded; j += kLanes) {
      const int64_t at = i * kTile + j;
      const __m512 e = _mm512_maskz_mov_ps(first_lanes(n - j), exponential(_mm512_loadu_ps(s + at)));
      if (out != nullptr) _mm512_storeu_ps(out + at, e);
      if (kept != nullptr) keep(e, kept + at);
    }
  }
}

DEBIAS_BF16 void exponential_sums(const float* s, int64_t m, int64_t n, Exponent exponent, uint16_t* kept, float* rows, float* columns) {
  constexpr int kTogether = 4;
  const Exponential exponential(exponent);
  const auto kept_row = [&](int64_t i) { return kept == nullptr ? nullptr : kept + i * kTile; };
  int64_t i = 0;
  for (; i + kTogether <= m; i += kTogether) sum_rows<kTogether>(s + i * kTile, n, exponential, kept_row(i), rows + i, columns);
  for (; i < m; ++i) sum_rows<1>(s + i * kTile, n, exponential, kept_row(i), rows + i, columns);
}

DEBIAS_BF16 void widen(const uint16_t* kept, int64_t m, float* exponentials) {
  for (int64_t e = 0; e < m * kTile; e += kLanes) _mm512_storeu_ps(exponentials + e, widened(kept + e));
}

DEBIAS_BF16 void weigh(const uint16_t* kept, int64_t m, int64_t n, const float* a, const float* b, PackedWeights out) {
  for (int64_t i = 0; i < m; i += 2) {
    const bool both = i + 1 < m;
    const uint16_t* row = kept + i * kTile;
    const __m512 first = _mm512_set1_ps(a[i]), second = _mm512_set1_ps(both ? a[i + 1] : 0);
    for (int64_t j = 0; j < n; j += 2 * kLanes) {
      const __m512 low = _mm512_maskz_loadu_ps(first_lanes(n - j), b + j),
                   high = _mm512_maskz_loadu_ps(first_lanes(n - j - kLanes), b + j + kLanes);
      const __m512i own = rounded(_mm512_mul_ps(widened(row + j), _mm512_add_ps(first, low)),
                                  _mm512_mul_ps(widened(row + j + kLanes), _mm512_add_ps(first, high)));
      const __m512i next = both ? rounded(_mm512_mul_ps(widened(row + kTile + j), _mm512_add_ps(second, low)),
                                          _mm512_mul_ps(widened(row + kTile + j + kLanes), _mm512_add_ps(second, high)))
                                : _mm512_setzero_si512();
      store_weights(own, next, i, j, out);
    }
  }
}

#else

void exponentials(const float*, int64_t, int64_t, Exponent, float*, uint16_t*) {}
void exponential_sums(const float*, int64_t, int64_t, Exponent, uint16_t*, float*, float*) {}
void widen(const uint16_t*, int64_t, float*) {}
void weigh(const uint16_t*, int64_t, int64_t, const float*, const float*, PackedWeights) {}

#endif

}  // namespace debias::kernels::cpu::bf16
