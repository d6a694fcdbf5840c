#include "debias/kernels/log_add_sums.h"

#include <vector>

#include "debias/kernels/cpu/pull_rows.h"
#include "debias/kernels/cpu/segments.h"
#include "debias/kernels/cpu/tile_products.h"
#include "debias/kernels/cpu/tile_walk.h"

namespace debias::kernels {

using namespace cpu;

void log_add_sums_forward(const SortedRows& rows, const LogAddTerm& term, const float* c, double* sums, double* slopes) {
  const int64_t n = rows.n, blocks = block_count(n);
  const LogAdd log_add{term.sign, term.epsilon};
  const int threads = omp_get_max_threads();
  const TileScores tile_scores(rows);
  const Floats tiles(threads * kTile * kTile), columns(threads * 2 * kTile);
  std::vector<double> parts(static_cast<size_t>(kChunks * 2 * kTile));
  std::fill_n(sums, n, 0.0);
  std::fill_n(slopes, n, 0.0);
  for (int64_t bi = 0; bi < blocks; ++bi) {
    std::fill(parts.begin(), parts.end(), 0.0);
    const int64_t chunks = walk_row(n, bi, [&](const Tile& whole) {
      const Tile tile = trimmed(rows, term.set, whole);
      const Block &own = tile.own, &other = tile.other;
      if (other.size() == 0) return;
      float* s = tiles.data() + tile.thread * kTile * kTile;
      float* column = columns.data() + tile.thread * 2 * kTile;
      double* part = parts.data() + tile.chunk * 2 * kTile + tile.first_row();
      tile_scores(own, other, s);
      std::fill_n(column, 2 * kTile, 0.0f);
      for (int64_t i = own.begin; i < own.end; ++i) {
        Stretch stretch[2];
        const int found = stretches(rows, term.set, i, other, stretch);
        for (int f = 0; f < found; ++f) {
          const int64_t offset = stretch[f].begin - other.begin, length = stretch[f].end - stretch[f].begin;
          const float* from = s + (i - own.begin) * kTile + offset;
          const LogAddSum row = log_add_sum(from, length, log_add, c[i]);
          part[i - own.begin] += row.sum;
          part[kTile + i - own.begin] += row.slope;
          if (!tile.diagonal()) log_add_columns(from, length, log_add, c + stretch[f].begin, column + offset, column + kTile + offset);
        }
      }
      if (tile.diagonal()) return;
      for (int64_t j = other.begin; j < other.end; ++j) {
        sums[j] += column[j - other.begin];
        slopes[j] += column[kTile + j - other.begin];
      }
    });
    const Block own = block(n, bi);
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      const double* part = parts.data() + chunk * 2 * kTile;
      for (int64_t i = own.begin; i < own.end; ++i) {
        sums[i] += part[i - own.begin];
        slopes[i] += part[kTile + i - own.begin];
      }
    }
  }
}

void log_add_sums_backward(const SortedRows& rows, const LogAddTerm& term, const float* c, const float* grads, float* dz) {
  const LogAdd log_add{term.sign, term.epsilon};
  const TileScores tile_scores(rows);
  pull_rows(
      rows, [&](const Tile& tile) { return trimmed(rows, term.set, tile); },
      [&](const Tile& tile, float* s, const TileWeights& weights) {
        const Block &own = tile.own, &other = tile.other;
        tile_scores(own, other, s);
        std::fill_n(weights.w, own.size() * kTile, 0.0f);
        for (int64_t i = own.begin; i < own.end; ++i) {
          Stretch stretch[2];
          const int found = stretches(rows, term.set, i, other, stretch);
          for (int f = 0; f < found; ++f) {
            const auto [begin, end] = stretch[f];
            const int64_t at = (i - own.begin) * kTile + begin - other.begin;
            add_log_add_weights(s + at, end - begin, log_add, term.sign * rows.scale, c[i], c + begin, grads[i], grads + begin,
                                weights.w + at);
          }
        }
        return false;
      },
      dz);
}

}  // namespace debias::kernels
