// The backward half of the tile walk: with symmetric weights w_ij of the pairs, dz_i += sum over j of w_ij z_j.
#pragma once

#include <algorithm>
#include <array>

#include "debias/kernels/cpu/tile_products.h"
#include "debias/kernels/cpu/tile_walk.h"

namespace debias::kernels::cpu {

// wanted(tile): the part of it that has pairs, without columns where none has. form(part, scores buffer, weights): forms its weights, the
// sum of what row i and row j bring to the pair, zero outside the sets: in weights.w, or packed already, which it then returns.
template <class Wanted, class Form>
void pull_rows(const SortedRows& rows, const Wanted& wanted, const Form& form, float* dz) {
  constexpr int64_t kSlice = 1024;
  const int64_t n = rows.n, dim = rows.dim, blocks = block_count(n), part_size = kTile * dim, words = kTile * kTile / 2;
  const int threads = omp_get_max_threads();
  const TilePulls pulls(rows);
  const Floats scores(threads * kTile * kTile), weights(threads * kTile * kTile), parts(std::min(kChunks, blocks) * part_size);
  const Buffer<uint32_t> packed(pulls.packed() ? threads * 2 * words : 0);
  for (int64_t bi = 0; bi < blocks; ++bi) {
    const Block own = block(n, bi);
    std::array<bool, kChunks> written{};  // parts; of a problem of one tile several pieces write one
    if (blocks == 1) {
      std::fill_n(parts.data(), part_size, 0.0f);
      written[0] = true;
    }
    const int64_t chunks = walk_row(n, bi, [&](const Tile& whole) {
      const Tile tile = wanted(whole);
      if (tile.other.size() == 0) return;
      uint32_t* by_rows = packed.data() + tile.thread * 2 * words;
      const TileWeights w = {weights.data() + tile.thread * kTile * kTile, {by_rows, by_rows + words}};
      const bool is_packed = form(tile, scores.data() + tile.thread * kTile * kTile, w);
      if (pulls.packed() && !is_packed) bf16::pack_weights(w.w, tile.own.size(), tile.other.size(), w.packed);
      bool& add = written[static_cast<size_t>(tile.chunk)];
      float* part = parts.data() + tile.chunk * part_size;
      if (!add && tile.own.size() < own.size()) {
        std::fill_n(part, part_size, 0.0f);
        add = true;
      }
      pulls.own(tile.own, tile.other, w, add, part + tile.first_row() * dim);
      if (!add) add = true;
      if (!tile.diagonal()) pulls.other(tile.own, tile.other, w, dz + tile.other.begin * dim);
    });
    const int64_t size = own.size() * dim;
    const auto gather = [&](int64_t begin) {
      float* target = dz + own.begin * dim;
      for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        if (!written[static_cast<size_t>(chunk)]) continue;
        const float* part = parts.data() + chunk * part_size;
        for (int64_t e = begin; e < std::min(size, begin + kSlice); ++e) target[e] += part[e];
      }
    };
    if (size * chunks <= 1 << 18) {
      for (int64_t begin = 0; begin < size; begin += kSlice) gather(begin);
      continue;
    }
#pragma omp parallel for schedule(static)
    for (int64_t begin = 0; begin < size; begin += kSlice) gather(begin);
  }
}

}  // namespace debias::kernels::cpu
