// Vectors of the bfloat16 kernels, and the attribute of the functions that use them.
#pragma once

#if defined(__x86_64__)
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // gcc bug 105593: undefined vectors inside the AVX-512 intrinsics
#endif
#include <immintrin.h>

#include <algorithm>
#include <cstdint>

#include "debias/kernels/cpu/bf16_panels.h"
#include "debias/kernels/cpu/tile_size.h"

#define DEBIAS_BF16 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#define DEBIAS_BF16_INLINE inline __attribute__((always_inline)) DEBIAS_BF16

namespace debias::kernels::cpu::bf16 {

constexpr int64_t kLanes = 16;

DEBIAS_BF16_INLINE __mmask16 first_lanes(int64_t count) {
  return count >= kLanes ? __mmask16{0xffff} : static_cast<__mmask16>((1 << std::max<int64_t>(count, 0)) - 1);
}

// 32 values, the first 16 in `low`, rounded to nearest, ties to even.
DEBIAS_BF16_INLINE __m512i rounded(__m512 low, __m512 high) { return (__m512i)_mm512_cvtne2ps_pbh(high, low); }

// The first `count` of 32 floats rounded, zero for the others.
DEBIAS_BF16_INLINE __m512i rounded_row(const float* from, int64_t count) {
  return rounded(_mm512_maskz_loadu_ps(first_lanes(count), from), _mm512_maskz_loadu_ps(first_lanes(count - kLanes), from + kLanes));
}

// Words that have one value of each of two rows of 32.
struct Interleaved {
  __m512i low, high;
};

struct InterleavedOrder {
  constexpr InterleavedOrder() {
    for (uint16_t c = 0; c < 16; ++c) {
      low[2 * c] = c;
      high[2 * c] = static_cast<uint16_t>(16 + c);
      low[2 * c + 1] = static_cast<uint16_t>(32 + c);
      high[2 * c + 1] = static_cast<uint16_t>(48 + c);
    }
  }
  alignas(64) uint16_t low[32] = {}, high[32] = {};
};
inline constexpr InterleavedOrder kInterleavedOrder;

DEBIAS_BF16_INLINE Interleaved interleaved(__m512i first, __m512i second) {
  return {_mm512_permutex2var_epi16(first, _mm512_load_si512(kInterleavedOrder.low), second),
          _mm512_permutex2var_epi16(first, _mm512_load_si512(kInterleavedOrder.high), second)};
}

// Weights of rows i (even) and i + 1, columns j.. of a tile, in both ways.
DEBIAS_BF16_INLINE void store_weights(__m512i first, __m512i second, int64_t i, int64_t j, PackedWeights out) {
  _mm512_storeu_si512(out.by_rows + (i * kTile + j) / 2, first);
  _mm512_storeu_si512(out.by_rows + ((i + 1) * kTile + j) / 2, second);
  const Interleaved pair = interleaved(first, second);
  uint32_t* by_columns = out.by_columns + i / 2 * kTile + j;
  _mm512_storeu_si512(by_columns, pair.low);
  _mm512_storeu_si512(by_columns + kLanes, pair.high);
}

}  // namespace debias::kernels::cpu::bf16
#endif
