// The backward half of the tile walk: with symmetric weights w_ij of the pairs, dz_i += sum over j of w_ij z_j.
#pragma once

#include <algorithm>
#include <vector>

#include "debias/kernels/cpu/gemm.h"
#include "debias/kernels/cpu/tile_walk.h"

namespace debias::kernels::cpu {

// wanted(own, other): whether the tile has pairs at all. form(bi, bj, own, other, scores buffer, weights): writes the tile's weights, the
// sum of what row i and row j bring to the pair, with row stride kTile and zeros outside the sets.
template <class Wanted, class Form>
void pull_rows(const SortedRows& rows, const Wanted& wanted, const Form& form, float* dz) {
  const int64_t n = rows.n, dim = rows.dim, blocks = block_count(n);
  const int threads = omp_get_max_threads();
  const Floats scores(threads * kTile * kTile), weights(threads * kTile * kTile), parts(std::min(kChunks, blocks) * kTile * dim);
  for (int64_t bi = 0; bi < blocks; ++bi) {
    const Block own = block(n, bi);
    std::fill_n(parts.data(), std::min(kChunks, blocks) * kTile * dim, 0.0f);
    const int64_t chunks = walk_row(blocks, bi, [&](int64_t bj, int64_t chunk, int thread) {
      const Block other = block(n, bj);
      if (!wanted(own, other)) return;
      float* w = weights.data() + thread * kTile * kTile;
      form(bi, bj, own, other, scores.data() + thread * kTile * kTile, w);
      add_product_nn(own.size(), other.size(), dim, w, kTile, rows.z + other.begin * dim, parts.data() + chunk * kTile * dim);
      if (bi != bj) add_product_tn(own.size(), other.size(), dim, w, kTile, rows.z + own.begin * dim, dz + other.begin * dim);
    });
    float* target = dz + own.begin * dim;
    const int64_t size = own.size() * dim;
#pragma omp parallel for schedule(static) if (size * chunks > 1 << 18)
    for (int64_t e = 0; e < size; ++e) {
      for (int64_t chunk = 0; chunk < chunks; ++chunk) target[e] += parts.data()[chunk * kTile * dim + e];
    }
  }
}

}  // namespace debias::kernels::cpu
