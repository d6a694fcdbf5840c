#include "debias/kernels/log_sums.h"

#include <cmath>
#include <limits>

#include "debias/kernels/cpu/gemm.h"
#include "debias/kernels/cpu/pull_rows.h"
#include "debias/kernels/cpu/segments.h"
#include "debias/kernels/cpu/tile_walk.h"

namespace debias::kernels {
namespace {

using namespace cpu;

constexpr double kEmpty = -1e30;
constexpr float kLargestShift = 41;  // e^{-2 * 41} is still a normal float

bool one_shift_serves(const SortedRows& rows, const std::vector<ExpSum>& requests) {
  float k = 0;
  for (const auto& request : requests) k = std::max(k, std::abs(request.multiplier));
  return k * std::abs(rows.scale) * rows.largest_norm2 <= kLargestShift;
}

float common_shift(const SortedRows& rows, const ExpSum& request) { return std::abs(request.multiplier * rows.scale) * rows.largest_norm2; }

// One walk's surroundings: rows, requests, and the scores of a tile, kept or computed into a thread's buffer.
struct Walk {
  const SortedRows& rows;
  const std::vector<ExpSum>& requests;
  int64_t blocks = block_count(rows.n);
  int64_t count = static_cast<int64_t>(requests.size());

  bool wanted(const Block& a, const Block& b) const {
    for (const auto& request : requests) {
      if (has_pairs(rows, request.set, a, b)) return true;
    }
    return false;
  }

  void scores(const Block& a, const Block& b, float* out) const {
    product_nt(a.size(), b.size(), rows.dim, rows.scale, rows.z + a.begin * rows.dim, rows.z + b.begin * rows.dim, out, kTile);
  }
};

// reduce(request, row sum so far, column sums so far): the row and column values of all tiles, by `fold` over stretches.
//   fold(request r, row i, stretch, scores of the stretch, column values or null) -> float of the row
// `values` [requests, n] starts as the neutral element; join(value, more) puts two parts together.
template <class Part, class Fold, class Join>
void reduce_pairs(const Walk& walk, float neutral, const Fold& fold, const Join& join, float* kept, Part* values) {
  const SortedRows& rows = walk.rows;
  const int64_t n = rows.n, per_chunk = walk.count * kTile;
  const int threads = omp_get_max_threads();
  const Floats tiles(threads * kTile * kTile), columns(threads * per_chunk);
  std::vector<Part> parts(static_cast<size_t>(kChunks * per_chunk));
  for (int64_t bi = 0; bi < walk.blocks; ++bi) {
    const Block own = block(n, bi);
    std::fill(parts.begin(), parts.end(), static_cast<Part>(neutral));
    const int64_t chunks = walk_row(walk.blocks, bi, [&](int64_t bj, int64_t chunk, int thread) {
      const Block other = block(n, bj);
      if (!walk.wanted(own, other)) return;
      float* s = kept != nullptr ? kept + tile_number(walk.blocks, bi, bj) * kTile * kTile : tiles.data() + thread * kTile * kTile;
      walk.scores(own, other, s);
      float* column_values = columns.data() + thread * per_chunk;
      std::fill_n(column_values, per_chunk, neutral);
      for (int64_t r = 0; r < walk.count; ++r) {
        const PairSet set = walk.requests[r].set;
        if (!has_pairs(rows, set, own, other)) continue;
        float* column = bi == bj ? nullptr : column_values + r * kTile;
        Part* part = parts.data() + chunk * per_chunk + r * kTile;
        for (int64_t i = own.begin; i < own.end; ++i) {
          Stretch stretch[2];
          const int found = stretches(rows, set, i, other, stretch);
          for (int f = 0; f < found; ++f) {
            const int64_t offset = stretch[f].begin - other.begin;
            const float value = fold(r, i, stretch[f], s + (i - own.begin) * kTile + offset, column == nullptr ? nullptr : column + offset);
            part[i - own.begin] = join(part[i - own.begin], value);
          }
        }
        if (column == nullptr) continue;
        for (int64_t j = other.begin; j < other.end; ++j) values[r * n + j] = join(values[r * n + j], column[j - other.begin]);
      }
    });
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      for (int64_t r = 0; r < walk.count; ++r) {
        const Part* part = parts.data() + chunk * per_chunk + r * kTile;
        for (int64_t i = own.begin; i < own.end; ++i) values[r * n + i] = join(values[r * n + i], part[i - own.begin]);
      }
    }
  }
}

struct Add {
  double operator()(double a, double b) const { return a + b; }
};
struct Most {
  float operator()(float a, float b) const { return std::max(a, b); }
};

// Each row's largest k s over the set, -inf where it is empty.
std::vector<float> row_shifts(const Walk& walk) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  std::vector<float> shifts(static_cast<size_t>(walk.count * walk.rows.n), kNone);
  reduce_pairs<float>(
      walk, kNone,
      [&](int64_t r, int64_t, const Stretch& stretch, const float* s, float* column) {
        return largest(s, stretch.end - stretch.begin, walk.requests[r].multiplier, column);
      },
      Most(), nullptr, shifts.data());
  for (float& shift : shifts) shift = std::isfinite(shift) ? shift : 0;
  return shifts;
}

}  // namespace

int64_t kept_scores_size(int64_t n) {
  const int64_t blocks = block_count(n);
  return blocks * (blocks + 1) / 2 * kTile * kTile;
}

void log_sums_forward(const SortedRows& rows, const std::vector<ExpSum>& requests, double* log_sums, float* kept) {
  const Walk walk{rows, requests};
  const int64_t n = rows.n;
  std::fill_n(log_sums, walk.count * n, 0.0);
  if (one_shift_serves(rows, requests)) {
    reduce_pairs<double>(
        walk, 0,
        [&](int64_t r, int64_t, const Stretch& stretch, const float* s, float* column) {
          return exp_sum(s, stretch.end - stretch.begin, requests[r].multiplier, common_shift(rows, requests[r]), column);
        },
        Add(), kept, log_sums);
    for (int64_t r = 0; r < walk.count; ++r) {
      for (int64_t i = 0; i < n; ++i) {
        double& sum = log_sums[r * n + i];
        sum = sum == 0 ? kEmpty : std::log(sum) + common_shift(rows, requests[r]);  // NaN stays NaN
      }
    }
    return;
  }
  const std::vector<float> shifts = row_shifts(walk);
  reduce_pairs<double>(
      walk, 0,
      [&](int64_t r, int64_t i, const Stretch& stretch, const float* s, float* column) {
        const float* own = shifts.data() + r * n;
        return exp_sum_shifted(s, stretch.end - stretch.begin, requests[r].multiplier, own[i], own + stretch.begin, column);
      },
      Add(), kept, log_sums);
  for (int64_t k = 0; k < walk.count * n; ++k) log_sums[k] = log_sums[k] == 0 ? kEmpty : std::log(log_sums[k]) + shifts[k];
}

namespace {

// What a row brings to the weights of its pairs: a_i e^{k s - shift_i}.
struct RowWeights {
  bool one_shift;
  std::vector<float> shifts;        // [requests, n] where rows have their own
  std::vector<float> coefficients;  // [requests, n]
};

RowWeights row_weights(const Walk& walk, const double* log_sums, const double* grads) {
  const int64_t n = walk.rows.n;
  RowWeights weights{one_shift_serves(walk.rows, walk.requests), {}, std::vector<float>(static_cast<size_t>(walk.count * n))};
  if (!weights.one_shift) weights.shifts.resize(static_cast<size_t>(walk.count * n));
  for (int64_t r = 0; r < walk.count; ++r) {
    const double factor = static_cast<double>(walk.requests[r].multiplier) * walk.rows.scale;
    const double shift = common_shift(walk.rows, walk.requests[r]);
    for (int64_t i = 0; i < n; ++i) {
      const double log_sum = log_sums[r * n + i];
      const bool empty = log_sum <= kEmpty / 2;
      if (!weights.one_shift) weights.shifts[r * n + i] = empty ? 0 : static_cast<float>(log_sum);
      const double lift = weights.one_shift ? std::exp(shift - log_sum) : std::exp(weights.shifts[r * n + i] - log_sum);
      weights.coefficients[r * n + i] = empty ? 0 : static_cast<float>(factor * grads[r * n + i] * lift);
    }
  }
  return weights;
}

void tile_weights(const Walk& walk, const RowWeights& weights, const Block& own, const Block& other, const float* s, float* w) {
  const SortedRows& rows = walk.rows;
  std::fill_n(w, own.size() * kTile, 0.0f);
  for (int64_t r = 0; r < walk.count; ++r) {
    const ExpSum& request = walk.requests[r];
    if (!has_pairs(rows, request.set, own, other)) continue;
    const float* a = weights.coefficients.data() + r * rows.n;
    for (int64_t i = own.begin; i < own.end; ++i) {
      Stretch stretch[2];
      const int found = stretches(rows, request.set, i, other, stretch);
      for (int f = 0; f < found; ++f) {
        const auto [begin, end] = stretch[f];
        const int64_t at = (i - own.begin) * kTile + begin - other.begin;
        if (weights.one_shift) {
          add_exp_weights(s + at, end - begin, request.multiplier, common_shift(rows, request), a[i], a + begin, w + at);
        } else {
          const float* shifts = weights.shifts.data() + r * rows.n;
          add_exp_weights_shifted(s + at, end - begin, request.multiplier, shifts[i], shifts + begin, a[i], a + begin, w + at);
        }
      }
    }
  }
}

}  // namespace

void log_sums_backward(const SortedRows& rows, const std::vector<ExpSum>& requests, const double* log_sums, const float* kept,
                       const double* grads, float* dz) {
  const Walk walk{rows, requests};
  const RowWeights weights = row_weights(walk, log_sums, grads);
  pull_rows(
      rows, [&](const Block& a, const Block& b) { return walk.wanted(a, b); },
      [&](int64_t bi, int64_t bj, const Block& own, const Block& other, float* buffer, float* w) {
        const float* s = buffer;
        if (kept != nullptr) {
          s = kept + tile_number(walk.blocks, bi, bj) * kTile * kTile;
        } else {
          walk.scores(own, other, buffer);
        }
        tile_weights(walk, weights, own, other, s, w);
      },
      dz);
}

}  // namespace debias::kernels
