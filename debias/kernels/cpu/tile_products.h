// The products of tiles: float32 by the BLAS, or bfloat16 (bf16_products.h) where the rows allow it and the machine has it.
#pragma once

#include <cstdint>

#include "debias/kernels/cpu/bf16_panels.h"
#include "debias/kernels/cpu/tile_walk.h"
#include "debias/kernels/sorted_rows.h"

namespace debias::kernels::cpu {

bool in_bfloat16(const SortedRows& rows);

// The scores of tiles, of rows that are packed once.
class TileScores {
 public:
  explicit TileScores(const SortedRows& rows);

  // out [a, b] = scale z_a . z_b with row stride kTile; what the tile has beyond a and b may be written as well.
  void operator()(const Block& a, const Block& b, float* out) const;

 private:
  const SortedRows& rows_;
  Buffer<uint32_t> panel_;
};

// Weights of a tile [own, other], row stride kTile, or packed where products are in bfloat16.
struct TileWeights {
  float* w;
  bf16::PackedWeights packed;
};

// Rows that weights multiply, packed once.
class TilePulls {
 public:
  explicit TilePulls(const SortedRows& rows);

  bool packed() const { return packed_; }

  // out [own, dim] = w z_other, or += where `add`.
  void own(const Block& own, const Block& other, const TileWeights& weights, bool add, float* out) const;
  // out [other, dim] += w^T z_own
  void other(const Block& own, const Block& other, const TileWeights& weights, float* out) const;

 private:
  const SortedRows& rows_;
  bool packed_;
  Buffer<uint32_t> panel_;
};

}  // namespace debias::kernels::cpu
