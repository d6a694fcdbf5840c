// Sums over pairs of rows: debias/kernels/{log_sums,log_add_sums,ranked_log_sums,equal_sums}.h for rows sorted by group.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "debias/kernels/equal_sums.h"
#include "debias/kernels/log_add_sums.h"
#include "debias/kernels/log_sums.h"
#include "debias/kernels/ranked_log_sums.h"
#include "python/engine/engine.h"

using debias::engine::guarded;
namespace kernels = debias::kernels;

namespace {

// Rows in the order of their groups, as debias_sort_by_group gives it. `norm2` is max |z|^2.
struct Rows {
  const float* z;  // [n, dim]
  int64_t n, dim;
  const int32_t *first, *last;
  const int64_t* place;  // of each row in z
  double scale;
  float norm2;
  int32_t bfloat16_products;

  kernels::SortedRows sorted() const {
    return {.z = z,
            .n = n,
            .dim = dim,
            .first = first,
            .last = last,
            .scale = static_cast<float>(scale),
            .largest_norm2 = norm2,
            .bfloat16_products = bfloat16_products != 0};
  }

  // Numbers of rows in the order of z.
  template <class Number>
  std::vector<Number> placed(const float* of_rows, int64_t count = 1) const {
    std::vector<Number> out(static_cast<size_t>(count * n));
    for (int64_t r = 0; r < count; ++r) {
      for (int64_t row = 0; row < n; ++row) out[static_cast<size_t>(r * n + place[row])] = of_rows[r * n + row];
    }
    return out;
  }

  // Numbers [count, n] of the places in the order of the rows. Vectorised exponentials and maxima swallow NaN; a loss of rows that are not
  // finite must not look like a number.
  void unplaced(const double* of_places, int64_t count, float* out) const {
    const bool finite = std::isfinite(norm2);
    for (int64_t r = 0; r < count; ++r) {
      for (int64_t row = 0; row < n; ++row) {
        out[r * n + row] = finite ? static_cast<float>(of_places[r * n + place[row]]) : std::numeric_limits<float>::quiet_NaN();
      }
    }
  }
};

// Of log_sums; sets are numbered as in kernels::PairSet.
struct Requests {
  const int64_t* sets;
  const double* multipliers;
  int64_t count;

  std::vector<kernels::ExpSum> sums() const {
    std::vector<kernels::ExpSum> all;
    for (int64_t r = 0; r < count; ++r) all.push_back({static_cast<kernels::PairSet>(sets[r]), static_cast<float>(multipliers[r])});
    return all;
  }
};

struct Ranked {
  const double* log_weights;  // [count, ranks]
  int64_t ranks;
  const double* multipliers;
  const int64_t* constant;
  int64_t count;

  std::vector<kernels::RankedSum> sums() const {
    std::vector<kernels::RankedSum> all;
    for (int64_t r = 0; r < count; ++r) {
      all.push_back({log_weights + r * ranks, ranks, static_cast<float>(multipliers[r]), constant[r] != 0});
    }
    return all;
  }
};

struct LogAdd {
  int64_t set;
  double sign, epsilon;

  kernels::LogAddTerm term() const { return {static_cast<kernels::PairSet>(set), static_cast<float>(sign), static_cast<float>(epsilon)}; }
};

}  // namespace

// order [n]: rows in ascending order of their groups, each group's in the order given. place: its inverse. Places first[i] to last[i] hold
// the group of place i.
DEBIAS_C_INTERFACE int debias_sort_by_group(const int64_t* group, int64_t n, int64_t* order, int64_t* place, int32_t* first,
                                            int32_t* last) {
  return guarded([&] {
    std::iota(order, order + n, 0);
    if (!std::is_sorted(group, group + n)) std::stable_sort(order, order + n, [&](int64_t a, int64_t b) { return group[a] < group[b]; });
    for (int64_t i = 0; i < n; ++i) place[order[i]] = i;
    for (int64_t begin = 0, end = 0; begin < n; begin = end) {
      while (end < n && group[order[end]] == group[order[begin]]) ++end;
      std::fill(first + begin, first + end, static_cast<int32_t>(begin));
      std::fill(last + begin, last + end, static_cast<int32_t>(end));
    }
  });
}

// z [n, dim]: the rows in this order, 64-byte aligned. *norm2: the largest squared norm; NaN stays.
DEBIAS_C_INTERFACE int debias_gather(const float* rows, const int64_t* order, int64_t n, int64_t dim, float* z, float* norm2) {
  return guarded([&] {
    constexpr int64_t kLanes = 16;
    float most = 0;
    for (int64_t i = 0; i < n; ++i) {
      const float* from = rows + order[i] * dim;
      float* to = z + i * dim;
      float lanes[kLanes] = {}, total = 0;
      int64_t d = 0;
      for (; d + kLanes <= dim; d += kLanes) {
        for (int64_t lane = 0; lane < kLanes; ++lane) {
          to[d + lane] = from[d + lane];
          lanes[lane] += from[d + lane] * from[d + lane];
        }
      }
      for (; d < dim; ++d) total += (to[d] = from[d]) * from[d];
      for (const float lane : lanes) total += lane;
      most = total > most || std::isnan(total) ? total : most;
    }
    *norm2 = most;
  });
}

// dz [n, dim] in the order of the rows.
DEBIAS_C_INTERFACE int debias_scatter(const float* dz, const int64_t* order, int64_t n, int64_t dim, float* rows) {
  return guarded([&] {
    for (int64_t i = 0; i < n; ++i) std::copy_n(dz + i * dim, dim, rows + order[i] * dim);
  });
}

// *form and *bytes: what log_sums keep of the tiles for the backward pass.
DEBIAS_C_INTERFACE int debias_log_sums_kept(const Rows* rows, const Requests* requests, int64_t* form, int64_t* bytes) {
  return guarded([&] {
    const kernels::TileForm kept = kernels::kept_form(rows->sorted(), requests->sums());
    *form = static_cast<int64_t>(kept);
    *bytes = kernels::kept_bytes(rows->n, kept);
  });
}

// sums [requests, n] in the order of z, out [requests, n] in that of the rows; kept: null, or the bytes of debias_log_sums_kept.
DEBIAS_C_INTERFACE int debias_log_sums_forward(const Rows* rows, const Requests* requests, int64_t form, void* kept, double* sums,
                                               float* out) {
  return guarded([&] {
    kernels::log_sums_forward(rows->sorted(), requests->sums(), sums, {static_cast<kernels::TileForm>(form), kept});
    rows->unplaced(sums, requests->count, out);
  });
}

// Adds the gradient of z to dz. gradients [requests, n] of `out`; a request whose gradient is 0 costs nothing.
DEBIAS_C_INTERFACE int debias_log_sums_backward(const Rows* rows, const Requests* requests, int64_t form, void* kept, const double* sums,
                                                const float* gradients, float* dz) {
  return guarded([&] {
    const auto all = requests->sums();
    std::vector<kernels::ExpSum> used;
    std::vector<double> used_sums, used_gradients;
    for (size_t r = 0; r < all.size(); ++r) {
      const int64_t begin = static_cast<int64_t>(r) * rows->n;
      if (std::all_of(gradients + begin, gradients + begin + rows->n, [](float value) { return value == 0; })) continue;
      used.push_back(all[r]);
      used_sums.insert(used_sums.end(), sums + begin, sums + begin + rows->n);
      const auto own = rows->placed<double>(gradients + begin);
      used_gradients.insert(used_gradients.end(), own.begin(), own.end());
    }
    if (used.empty()) return;
    kernels::log_sums_backward(rows->sorted(), used, used_sums.data(), {static_cast<kernels::TileForm>(form), kept}, used_gradients.data(),
                               dz);
  });
}

// out [n]: sums over the set of log(e^-epsilon + e^(c + sign s)); slopes [n]: their derivatives in c. c, out and slopes in the order of the
// rows.
DEBIAS_C_INTERFACE int debias_log_add_sums_forward(const Rows* rows, const LogAdd* add, const float* c, float* slopes, float* out) {
  return guarded([&] {
    std::vector<double> sums(static_cast<size_t>(rows->n)), own_slopes(static_cast<size_t>(rows->n));
    kernels::log_add_sums_forward(rows->sorted(), add->term(), rows->placed<float>(c).data(), sums.data(), own_slopes.data());
    rows->unplaced(sums.data(), 1, out);
    rows->unplaced(own_slopes.data(), 1, slopes);
  });
}

DEBIAS_C_INTERFACE int debias_log_add_sums_backward(const Rows* rows, const LogAdd* add, const float* c, const float* gradients,
                                                    float* dz) {
  return guarded([&] {
    kernels::log_add_sums_backward(rows->sorted(), add->term(), rows->placed<float>(c).data(), rows->placed<float>(gradients).data(), dz);
  });
}

// kept: null, or float32 [requests with a gradient, n, debias_kept_columns].
DEBIAS_C_INTERFACE int debias_ranked_log_sums_forward(const Rows* rows, const Ranked* requests, float* kept, float* out) {
  return guarded([&] {
    std::vector<double> sums(static_cast<size_t>(requests->count * rows->n));
    kernels::ranked_log_sums_forward(rows->sorted(), requests->sums(), sums.data(), kept);
    rows->unplaced(sums.data(), requests->count, out);
  });
}

DEBIAS_C_INTERFACE int debias_ranked_log_sums_backward(const Rows* rows, const Ranked* requests, const float* kept, const float* gradients,
                                                       float* dz) {
  return guarded([&] {
    kernels::ranked_log_sums_backward(rows->sorted(), requests->sums(), kept, rows->placed<double>(gradients, requests->count).data(), dz);
  });
}

DEBIAS_C_INTERFACE int debias_kept_columns(int64_t n, int64_t* columns) {
  return guarded([&] { *columns = kernels::kept_columns(n); });
}

DEBIAS_C_INTERFACE int debias_equal_sums_forward(const Rows* rows, float* out) {
  return guarded([&] {
    std::vector<double> sums(static_cast<size_t>(rows->n));
    kernels::equal_sums_forward(rows->sorted(), sums.data());
    rows->unplaced(sums.data(), 1, out);
  });
}

DEBIAS_C_INTERFACE int debias_equal_sums_backward(const Rows* rows, const float* gradients, float* dz) {
  return guarded([&] { kernels::equal_sums_backward(rows->sorted(), rows->placed<double>(gradients).data(), dz); });
}
