#include "debias/kernels/log_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "debias/kernels/cpu/bf16_exponentials.h"
#include "debias/kernels/cpu/huge_pages.h"
#include "debias/kernels/cpu/pull_rows.h"
#include "debias/kernels/cpu/segments.h"
#include "debias/kernels/cpu/tile_products.h"
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

// One walk's surroundings: rows, requests, and the tiles that are kept.
struct Walk {
  const SortedRows& rows;
  const std::vector<ExpSum>& requests;
  KeptTiles kept;
  const TileScores* tile_scores;  // null where all tiles are kept
  int64_t blocks = block_count(rows.n);
  int64_t count = static_cast<int64_t>(requests.size());

  bool wanted(const Block& a, const Block& b) const {
    for (const auto& request : requests) {
      if (has_pairs(rows, request.set, a, b)) return true;
    }
    return false;
  }

  // The one request that has pairs in a tile, if the whole tile is of its set; -1.
  int64_t whole(const Tile& tile) const {
    const Block &own = tile.own, &other = tile.other;
    int64_t found = -1;
    for (int64_t r = 0; r < count; ++r) {
      if (!has_pairs(rows, requests[r].set, own, other)) continue;
      if (found >= 0) return -1;
      found = r;
    }
    const bool equal_too = requests[found].set == PairSet::kUnequal && has_pairs(rows, PairSet::kEqual, own, other);
    return tile.diagonal() || requests[found].set == PairSet::kEqual || equal_too ? -1 : found;
  }

  // The tile as it is kept in one of the forms; null where it is not.
  template <class Number>
  Number* kept_tile(TileForm form, const Tile& tile) const {
    if (kept.tiles == nullptr || kept.form != form) return nullptr;
    return static_cast<Number*>(kept.tiles) + (tile_number(blocks, tile.bi, tile.bj) * kTile + tile.first_row()) * kTile;
  }

  void scores(const Tile& tile, float* out) const { (*tile_scores)(tile.own, tile.other, out); }

  bf16::Exponent exponent() const { return {requests[0].multiplier, common_shift(rows, requests[0])}; }
};

// visit(tile, scores buffer, parts, columns): adds, by `join`, what a tile brings to its rows' `parts` [requests, kTile] and its `columns`
// [requests, kTile], null on the diagonal. `values` [requests, n] starts as the neutral element.
template <class Part, class Join, class Visit>
void reduce_tiles(const Walk& walk, float neutral, const Join& join, const Visit& visit, Part* values) {
  const SortedRows& rows = walk.rows;
  const int64_t n = rows.n, per_chunk = walk.count * kTile;
  const int threads = omp_get_max_threads();
  const Floats tiles(threads * kTile * kTile), columns(threads * per_chunk);
  std::vector<Part> parts(static_cast<size_t>(std::min(kChunks, walk.blocks) * per_chunk));
  for (int64_t bi = 0; bi < walk.blocks; ++bi) {
    std::fill(parts.begin(), parts.end(), static_cast<Part>(neutral));
    const int64_t chunks = walk_row(n, bi, [&](const Tile& tile) {
      if (!walk.wanted(tile.own, tile.other)) return;
      float* own_columns = columns.data() + tile.thread * per_chunk;
      std::fill_n(own_columns, per_chunk, neutral);
      Part* own_parts = parts.data() + tile.chunk * per_chunk + tile.first_row();
      visit(tile, tiles.data() + tile.thread * kTile * kTile, own_parts, tile.diagonal() ? nullptr : own_columns);
      if (tile.diagonal()) return;
      for (int64_t r = 0; r < walk.count; ++r) {
        if (!has_pairs(rows, walk.requests[r].set, tile.own, tile.other)) continue;
        const float* column = own_columns + r * kTile;
        Part* to = values + r * n + tile.other.begin;
        for (int64_t j = 0; j < tile.other.size(); ++j) to[j] = join(to[j], column[j]);
      }
    });
    const Block own = block(n, bi);
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      for (int64_t r = 0; r < walk.count; ++r) {
        const Part* part = parts.data() + chunk * per_chunk + r * kTile;
        for (int64_t i = own.begin; i < own.end; ++i) values[r * n + i] = join(values[r * n + i], part[i - own.begin]);
      }
    }
  }
}

// fold(request r, row i, stretch, its part of the tile, column values or null) -> float of the row, over the stretches of a tile.
template <class Part, class Join, class Fold>
void fold_tile(const Walk& walk, const Tile& tile, const float* s, const Join& join, const Fold& fold, Part* parts, float* columns) {
  const Block &own = tile.own, &other = tile.other;
  for (int64_t r = 0; r < walk.count; ++r) {
    const PairSet set = walk.requests[r].set;
    if (!has_pairs(walk.rows, set, own, other)) continue;
    Part* part = parts + r * kTile;
    for (int64_t i = own.begin; i < own.end; ++i) {
      Stretch stretch[2];
      const int found = stretches(walk.rows, set, i, other, stretch);
      for (int f = 0; f < found; ++f) {
        const int64_t offset = stretch[f].begin - other.begin;
        float* column = columns == nullptr ? nullptr : columns + r * kTile + offset;
        const float value = fold(r, i, stretch[f], s + (i - own.begin) * kTile + offset, column);
        part[i - own.begin] = join(part[i - own.begin], value);
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
  const auto fold = [&](int64_t r, int64_t, const Stretch& stretch, const float* s, float* column) {
    return largest(s, stretch.end - stretch.begin, walk.requests[r].multiplier, column);
  };
  reduce_tiles<float>(
      walk, kNone, Most(),
      [&](const Tile& tile, float* s, float* parts, float* columns) {
        walk.scores(tile, s);
        fold_tile(walk, tile, s, Most(), fold, parts, columns);
      },
      shifts.data());
  for (float& shift : shifts) shift = std::isfinite(shift) ? shift : 0;
  return shifts;
}

// Sums of `exponential`s of the scores, formed as they are summed.
template <class Exponential>
void sum_scores(const Walk& walk, const Exponential& exponential, double* sums) {
  reduce_tiles<double>(
      walk, 0, Add(),
      [&](const Tile& tile, float* buffer, double* parts, float* columns) {
        float* kept = walk.kept_tile<float>(TileForm::kScores, tile);
        float* s = kept != nullptr ? kept : buffer;
        walk.scores(tile, s);
        fold_tile(walk, tile, s, Add(), exponential, parts, columns);
      },
      sums);
}

// Sums of exponentials that are formed and kept a tile at a time.
void sum_exponentials(const Walk& walk, bool rounded, double* sums) {
  const auto fold = [](int64_t, int64_t, const Stretch& stretch, const float* e, float* column) {
    return sum(e, stretch.end - stretch.begin, column);
  };
  const bf16::Exponent exponent = walk.exponent();
  reduce_tiles<double>(
      walk, 0, Add(),
      [&](const Tile& tile, float* buffer, double* parts, float* columns) {
        const int64_t m = tile.own.size(), n = tile.other.size();
        float* kept = walk.kept_tile<float>(TileForm::kExponentials, tile);
        float* s = kept != nullptr ? kept : buffer;
        walk.scores(tile, s);
        if (rounded) {
          auto* narrow = walk.kept_tile<uint16_t>(TileForm::kRoundedExponentials, tile);
          if (const int64_t r = walk.whole(tile); r >= 0) {
            float row_sums[kTile];
            bf16::exponential_sums(s, m, n, exponent, narrow, row_sums, columns + r * kTile);
            for (int64_t i = 0; i < m; ++i) parts[r * kTile + i] += row_sums[i];
            return;
          }
          bf16::exponentials(s, m, n, exponent, s, narrow);
        } else {
          for (int64_t i = 0; i < m; ++i) exponentials(s + i * kTile, n, exponent.k, exponent.shift);
        }
        fold_tile(walk, tile, s, Add(), fold, parts, columns);
      },
      sums);
}

}  // namespace

TileForm kept_form(const SortedRows& rows, const std::vector<ExpSum>& requests) {
  const auto other_multiplier = [&](const ExpSum& request) { return request.multiplier != requests.front().multiplier; };
  if (!one_shift_serves(rows, requests) || std::any_of(requests.begin(), requests.end(), other_multiplier)) return TileForm::kScores;
  return in_bfloat16(rows) ? TileForm::kRoundedExponentials : TileForm::kExponentials;
}

int64_t kept_bytes(int64_t n, TileForm form) {
  const int64_t blocks = block_count(n);
  const size_t each = form == TileForm::kRoundedExponentials ? sizeof(uint16_t) : sizeof(float);
  return blocks * (blocks + 1) / 2 * kTile * kTile * static_cast<int64_t>(each);
}

void log_sums_forward(const SortedRows& rows, const std::vector<ExpSum>& requests, double* log_sums, KeptTiles kept) {
  const bool equal_alone = std::all_of(requests.begin(), requests.end(), [](const ExpSum& r) { return r.set == PairSet::kEqual; });
  // Equal pairs alone leave most tiles unwritten, and of a large page one that is written takes all of it.
  if (kept.tiles != nullptr && !equal_alone) ask_for_huge_pages(kept.tiles, kept_bytes(rows.n, kept.form));
  const TileScores tile_scores(rows);
  const Walk walk{rows, requests, kept, &tile_scores};
  const int64_t n = rows.n;
  std::fill_n(log_sums, walk.count * n, 0.0);
  if (one_shift_serves(rows, requests)) {
    const TileForm form = kept_form(rows, requests);
    const bool rounded = form == TileForm::kRoundedExponentials;
    if (rounded || (form == TileForm::kExponentials && kept.tiles != nullptr)) {
      sum_exponentials(walk, rounded, log_sums);
    } else {
      const auto exponential = [&](int64_t r, int64_t, const Stretch& stretch, const float* s, float* column) {
        return exp_sum(s, stretch.end - stretch.begin, requests[r].multiplier, common_shift(rows, requests[r]), column);
      };
      sum_scores(walk, exponential, log_sums);
    }
    for (int64_t r = 0; r < walk.count; ++r) {
      for (int64_t i = 0; i < n; ++i) {
        double& sum = log_sums[r * n + i];
        sum = sum == 0 ? kEmpty : std::log(sum) + common_shift(rows, requests[r]);  // NaN stays NaN
      }
    }
    return;
  }
  const std::vector<float> shifts = row_shifts(walk);
  const auto exponential = [&](int64_t r, int64_t i, const Stretch& stretch, const float* s, float* column) {
    const float* own = shifts.data() + r * n;
    return exp_sum_shifted(s, stretch.end - stretch.begin, requests[r].multiplier, own[i], own + stretch.begin, column);
  };
  sum_scores(walk, exponential, log_sums);
  for (int64_t k = 0; k < walk.count * n; ++k) log_sums[k] = log_sums[k] == 0 ? kEmpty : std::log(log_sums[k]) + shifts[k];
}

namespace {

// Factor of a row in the weights of its pairs: a_i e^{k s - shift_i}.
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

// w from a tile's scores, or from its exponentials.
void tile_weights(const Walk& walk, const RowWeights& weights, const Tile& tile, const float* values, bool exponentials, float* w) {
  const SortedRows& rows = walk.rows;
  const Block &own = tile.own, &other = tile.other;
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
        if (exponentials) {
          add_weights(values + at, end - begin, a[i], a + begin, w + at);
        } else if (weights.one_shift) {
          add_exp_weights(values + at, end - begin, request.multiplier, common_shift(rows, request), a[i], a + begin, w + at);
        } else {
          const float* shifts = weights.shifts.data() + r * rows.n;
          add_exp_weights_shifted(values + at, end - begin, request.multiplier, shifts[i], shifts + begin, a[i], a + begin, w + at);
        }
      }
    }
  }
}

}  // namespace

void log_sums_backward(const SortedRows& rows, const std::vector<ExpSum>& requests, const double* log_sums, KeptTiles kept,
                       const double* grads, float* dz) {
  std::optional<TileScores> tile_scores;
  if (kept.tiles == nullptr) tile_scores.emplace(rows);
  const Walk walk{rows, requests, kept, tile_scores ? &*tile_scores : nullptr};
  const RowWeights weights = row_weights(walk, log_sums, grads);
  const bool rounded = kept_form(rows, requests) == TileForm::kRoundedExponentials;
  const bool formed_here = rounded && (kept.tiles == nullptr || kept.form != TileForm::kRoundedExponentials);
  const Buffer<uint16_t> narrow_tiles(formed_here ? omp_get_max_threads() * kTile * kTile : 0);
  const auto scores = [&](const Tile& tile, float* buffer) -> const float* {
    if (const float* found = walk.kept_tile<float>(TileForm::kScores, tile)) return found;
    walk.scores(tile, buffer);
    return buffer;
  };
  pull_rows(
      rows, [&](const Tile& tile) { return walk.wanted(tile.own, tile.other) ? tile : Tile{}; },
      [&](const Tile& tile, float* buffer, const TileWeights& out) {
        if (!rounded) {
          const float* found = walk.kept_tile<float>(TileForm::kExponentials, tile);
          const bool exponentials = found != nullptr;
          tile_weights(walk, weights, tile, exponentials ? found : scores(tile, buffer), exponentials, out.w);
          return false;
        }
        uint16_t* narrow = narrow_tiles.data() + tile.thread * kTile * kTile;
        if (!formed_here) {
          narrow = walk.kept_tile<uint16_t>(TileForm::kRoundedExponentials, tile);
        } else {
          bf16::exponentials(scores(tile, buffer), tile.own.size(), tile.other.size(), walk.exponent(), nullptr, narrow);
        }
        if (const int64_t r = walk.whole(tile); r >= 0) {
          const float* a = weights.coefficients.data() + r * rows.n;
          bf16::weigh(narrow, tile.own.size(), tile.other.size(), a + tile.own.begin, a + tile.other.begin, out.packed);
          return true;
        }
        bf16::widen(narrow, tile.own.size(), buffer);
        tile_weights(walk, weights, tile, buffer, true, out.w);
        return false;
      },
      dz);
}

}  // namespace debias::kernels
