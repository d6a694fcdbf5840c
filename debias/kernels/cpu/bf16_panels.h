// Rows and weights packed as bfloat16, rounded to nearest with ties to even, for products that are accumulated in float32 by the
// instruction that machines with AVX-512 BF16 have for it: twice the multiplications of float32 in a cycle.
//
// The instruction multiplies two neighbours at a time and adds both. So values that are added to each other are in one word, and words
// in strips of 32, one strip behind the other; what a panel lacks to whole words and strips is zero. Scores add over columns of z, pulls
// over rows of it: hence two ways to pack the same rows.
#pragma once

#include <cstdint>

namespace debias::kernels::cpu::bf16 {

// True if this machine has the instruction. Otherwise nothing else of this folder's bf16 files may be called.
bool available();

constexpr int64_t kStrip = 32;  // words side by side

// z [n, dim] as words [strip of rows][pair of columns][row of the strip]: a block of rows that begins with a strip is one piece.
struct ScorePanel {
  static int64_t pairs(int64_t dim) { return (dim + 1) / 2; }
  static int64_t words(int64_t n, int64_t dim) { return (n + kStrip - 1) / kStrip * kStrip * pairs(dim); }
  static void pack(const float* z, int64_t n, int64_t dim, uint32_t* words);
};

// z [n, dim] as words [strip of columns][pair of rows][column of the strip].
struct PullPanel {
  static int64_t strip_words(int64_t n) { return (n + 1) / 2 * kStrip; }
  static int64_t words(int64_t n, int64_t dim) { return (dim + kStrip - 1) / kStrip * strip_words(n); }
  static void pack(const float* z, int64_t n, int64_t dim, uint32_t* words);
};

// Weights of a tile [m, n] inside kTile x kTile. They are multiplied from both sides, so they are packed both ways.
struct PackedWeights {
  uint32_t* by_rows;     // [row][pair of columns], kTile / 2 words a row
  uint32_t* by_columns;  // [pair of rows][column], kTile words a pair
};

// w [m, n] with row stride kTile, zero in the columns from n on.
void pack_weights(const float* w, int64_t m, int64_t n, PackedWeights out);

}  // namespace debias::kernels::cpu::bf16
