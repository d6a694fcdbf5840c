// Exponentials of tiles of scores, kept as bfloat16 for the way back, and the weights made of them there. Tiles have row stride kTile.
#pragma once

#include <cstdint>

#include "debias/kernels/cpu/bf16_panels.h"

namespace debias::kernels::cpu::bf16 {

// The exponentials e^{k s - shift} of a tile; k s - shift in [-87, 1].
struct Exponent {
  float k, shift;
};

// Writes them for s [m, n] to `out` (may be s) and, rounded, to `kept`; that gets zeros up to the next 32 columns; either may be null.
void exponentials(const float* s, int64_t m, int64_t n, Exponent exponent, float* out, uint16_t* kept);

// Their sums over rows [m], and their sums over columns added to columns [n]; `kept` as above.
void exponential_sums(const float* s, int64_t m, int64_t n, Exponent exponent, uint16_t* kept, float* rows, float* columns);

// kept to float32 [m, kTile]
void widen(const uint16_t* kept, int64_t m, float* exponentials);

// w_ij = kept_ij (a[i] + b[j])
void weigh(const uint16_t* kept, int64_t m, int64_t n, const float* a, const float* b, PackedWeights out);

}  // namespace debias::kernels::cpu::bf16
