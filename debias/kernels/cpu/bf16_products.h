// Products of packed panels (bf16_panels.h): their block of sums stays in registers from the first pair to the last.
#pragma once

#include <cstdint>

#include "debias/kernels/cpu/bf16_panels.h"

namespace debias::kernels::cpu::bf16 {

// out [m, n] (row stride ld) = alpha a b^T, of blocks of a ScorePanel; written up to whole strips in both directions.
void scores(int64_t m, int64_t n, int64_t dim, float alpha, const uint32_t* a, const uint32_t* b, float* out, int64_t ld);

// A block of rows inside a PullPanel: its first pair in the first strip, and the words from one strip to the next.
struct PulledRows {
  const uint32_t* first;
  int64_t strip_words;
};

// out [m, dim] = w z, or += where `add`; z the n rows of the other side.
void pull_rows(int64_t m, int64_t n, int64_t dim, PackedWeights w, PulledRows z, bool add, float* out);
// out [n, dim] += w^T z; z the m rows of the own side.
void pull_columns(int64_t m, int64_t n, int64_t dim, PackedWeights w, PulledRows z, float* out);

}  // namespace debias::kernels::cpu::bf16
