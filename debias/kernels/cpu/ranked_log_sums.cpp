#include "debias/kernels/ranked_log_sums.h"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <limits>

#include "debias/kernels/cpu/gemm.h"
#include "debias/kernels/cpu/segments.h"
#include "debias/kernels/cpu/tile_walk.h"

namespace debias::kernels {
namespace {

using namespace cpu;

constexpr double kEmpty = -1e30;
constexpr int64_t kPieceFloats = int64_t{1} << 18;  // of the rows of scores that one thread takes at a time
constexpr int64_t kPanelFloats = int64_t{4} << 20;  // of a panel of rows against all columns

int64_t piece_rows(int64_t n) { return std::clamp<int64_t>(kPieceFloats / std::max<int64_t>(n, 1), 16, 64); }

// Weights by rank relative to the largest, whose log is `shift`; -inf where all are zero.
struct RankWeights {
  explicit RankWeights(const RankedSum& request) : totals{0} {
    for (int64_t r = 0; r < request.ranks; ++r) shift = std::max(shift, request.log_weight[r]);
    for (int64_t r = 0; r < request.ranks; ++r) {
      relative.push_back(std::isfinite(shift) ? static_cast<float>(std::exp(request.log_weight[r] - shift)) : 0);
      totals.push_back(totals.back() + relative.back());
    }
  }
  double shift = -std::numeric_limits<double>::infinity();
  std::vector<float> relative;  // of ranks 1..
  std::vector<double> totals;   // of the first 0, 1, ...
};

// Unequal columns of a row, ordered by score. Scores become integers of the same order, with the column below them: one sort does both.
class OrderedRow {
 public:
  explicit OrderedRow(int64_t n) : keys_(static_cast<size_t>(n)), columns_(static_cast<size_t>(n)), scores_(n), weights_(n), shares_(n) {}

  void sort(const SortedRows& rows, int64_t row, const float* s) {
    count_ = 0;
    uint64_t* keys = keys_.data();
    for (const auto& [begin, end] : {Stretch{0, rows.first[row]}, Stretch{rows.last[row], rows.n}}) {
      for (int64_t j = begin; j < end; ++j) {
        const auto bits = std::bit_cast<uint32_t>(s[j] + 0.0f);  // -0 becomes 0
        const uint32_t negative = 0 - (bits >> 31);
        keys[count_++] = uint64_t{bits ^ (negative | 0x80000000u)} << 32 | static_cast<uint32_t>(j);
      }
    }
    sorter_(keys, static_cast<size_t>(count_), hwy::SortAscending());
    for (int64_t p = 0; p < count_; ++p) {
      const auto ordered = static_cast<uint32_t>(keys[p] >> 32);
      const uint32_t positive = 0 - (ordered >> 31);
      scores_.data()[p] = std::bit_cast<float>(ordered ^ (~positive | 0x80000000u));
      columns_[static_cast<size_t>(p)] = static_cast<int32_t>(keys[p] & 0xffffffffu);
    }
    tied_ = false;
    for (int64_t p = 1; p < count_; ++p) tied_ |= scores_.data()[p] == scores_.data()[p - 1];
    weighed_ = nullptr;
  }

  struct Sum {
    double value = 0;
    float top = 0;               // the shift of its exponents
    int64_t begin = 0, end = 0;  // the places that have a weight, and some between them
  };

  Sum sum(const RankWeights& weights, float k) {
    Sum sum{.end = count_};
    if (k == 0 && !tied_) {
      sum.value = weights.totals[static_cast<size_t>(count_)];
      return sum;
    }
    const float* by_order = weigh(weights);
    while (sum.begin < sum.end && by_order[sum.begin] == 0) ++sum.begin;
    while (sum.begin < sum.end && by_order[sum.end - 1] == 0) --sum.end;
    if (sum.begin == sum.end) return sum;
    sum.top = std::max(k * scores_.data()[sum.begin], k * scores_.data()[sum.end - 1]);
    for (int64_t p = sum.begin; p < sum.end; p += kTile) {  // long sums continue in double
      sum.value += weighted_exp_sum(scores_.data() + p, std::min(kTile, sum.end - p), k, sum.top, by_order + p);
    }
    return sum;
  }

  // out[column] += factor times the column's share of the sum.
  void add_shares(const RankWeights& weights, float k, const Sum& sum, double factor, float* out) {
    if (sum.value == 0 || factor == 0) return;
    float* shares = shares_.data();
    std::fill(shares + sum.begin, shares + sum.end, 0.0f);
    add_weighted_exps(scores_.data() + sum.begin, sum.end - sum.begin, k, sum.top, static_cast<float>(factor / sum.value),
                      weigh(weights) + sum.begin, shares + sum.begin);
    for (int64_t p = sum.begin; p < sum.end; ++p) out[columns_[static_cast<size_t>(p)]] += shares[p];
  }

 private:
  // The weights in order of scores; ties share the largest rank.
  const float* weigh(const RankWeights& weights) {
    if (!tied_) return weights.relative.data();
    if (weighed_ == &weights) return weights_.data();
    weighed_ = &weights;
    float shared = 0;
    for (int64_t p = count_ - 1; p >= 0; --p) {
      if (p + 1 == count_ || scores_.data()[p] != scores_.data()[p + 1]) shared = weights.relative[static_cast<size_t>(p)];
      weights_.data()[p] = shared;
    }
    return weights_.data();
  }

  std::vector<uint64_t> keys_;
  std::vector<int32_t> columns_;
  Floats scores_, weights_, shares_;
  const RankWeights* weighed_ = nullptr;  // whose weights weights_ holds
  int64_t count_ = 0;
  bool tied_ = false;
  hwy::Sorter sorter_;
};

std::deque<OrderedRow> a_row_for_each_thread(int64_t n) {  // a deque never moves its elements, which a sorter would not survive
  std::deque<OrderedRow> rows;
  for (int t = 0; t < omp_get_max_threads(); ++t) rows.emplace_back(n);
  return rows;
}

void piece_scores(const SortedRows& rows, const Block& piece, float* out) {
  product_nt(piece.size(), rows.n, rows.dim, rows.scale, rows.z + piece.begin * rows.dim, rows.z, out, rows.n);
}

// One for each distinct table, and which of them a request takes.
struct AllWeights {
  explicit AllWeights(const std::vector<RankedSum>& requests) {
    for (const auto& request : requests) {
      const auto same = [&](const RankedSum* other) {
        return other->ranks == request.ranks && std::equal(request.log_weight, request.log_weight + request.ranks, other->log_weight);
      };
      const auto found = std::find_if(tables_.begin(), tables_.end(), same);
      of_.push_back(static_cast<size_t>(found - tables_.begin()));
      if (found != tables_.end()) continue;
      tables_.push_back(&request);
      weights_.emplace_back(request);
    }
  }
  const RankWeights& operator[](size_t request) const { return weights_[of_[request]]; }

 private:
  std::vector<const RankedSum*> tables_;
  std::deque<RankWeights> weights_;
  std::vector<size_t> of_;
};

// What one unit of a row's gradient puts on each of its scores is its share times this.
double row_factor(const SortedRows& rows, const RankedSum& request, double grad) {
  return static_cast<double>(request.multiplier) * rows.scale * grad;
}

// dz from the shares: pair (i, j) pulls on both of its rows, so a row's pull is one product with its own weights and the others' on it.
void pull_by_shares(const SortedRows& rows, const std::vector<RankedSum>& requests, const float* kept, const double* grads, float* dz) {
  const int64_t n = rows.n, ld = kept_columns(n), step = piece_rows(n), pieces = (n + step - 1) / step;
  const Floats panels(omp_get_max_threads() * step * ld);
#pragma omp parallel for schedule(dynamic)
  for (int64_t index = 0; index < pieces; ++index) {
    const Block piece{index * step, std::min(n, (index + 1) * step)};
    float* w = panels.data() + omp_get_thread_num() * step * ld;
    std::fill_n(w, piece.size() * ld, 0.0f);
    const float* shares = kept;
    for (size_t r = 0; r < requests.size(); ++r) {
      if (!requests[r].has_gradient()) continue;
      const double* grad = grads + static_cast<int64_t>(r) * n;
      for (int64_t i = piece.begin; i < piece.end; ++i) {
        const auto factor = static_cast<float>(row_factor(rows, requests[r], grad[i]));
        float* own = w + (i - piece.begin) * ld;
        for (int64_t j = 0; j < n; ++j) own[j] += factor * shares[i * ld + j];
      }
      for (int64_t j = 0; j < n; ++j) {
        const auto factor = static_cast<float>(row_factor(rows, requests[r], grad[j]));
        for (int64_t i = piece.begin; i < piece.end; ++i) w[(i - piece.begin) * ld + j] += factor * shares[j * ld + i];
      }
      shares += n * ld;
    }
    product_nn(piece.size(), n, rows.dim, w, ld, rows.z, true, dz + piece.begin * rows.dim);
  }
}

}  // namespace

void ranked_log_sums_forward(const SortedRows& rows, const std::vector<RankedSum>& requests, double* log_sums, float* kept) {
  const int64_t n = rows.n, step = piece_rows(n), pieces = (n + step - 1) / step;
  const AllWeights weights(requests);
  std::deque<OrderedRow> ordered_rows = a_row_for_each_thread(n);
  const Floats panels(omp_get_max_threads() * step * n);
#pragma omp parallel for schedule(dynamic)
  for (int64_t index = 0; index < pieces; ++index) {
    const Block piece{index * step, std::min(n, (index + 1) * step)};
    float* s = panels.data() + omp_get_thread_num() * step * n;
    OrderedRow& ordered = ordered_rows[static_cast<size_t>(omp_get_thread_num())];
    piece_scores(rows, piece, s);
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      ordered.sort(rows, i, s + (i - piece.begin) * n);
      float* shares = kept == nullptr ? nullptr : kept + i * kept_columns(n);
      for (size_t r = 0; r < requests.size(); ++r) {
        const auto sum = ordered.sum(weights[r], requests[r].multiplier);
        log_sums[static_cast<int64_t>(r) * n + i] = sum.value == 0 ? kEmpty : std::log(sum.value) + sum.top + weights[r].shift;
        if (shares == nullptr || !requests[r].has_gradient()) continue;
        std::fill_n(shares, n, 0.0f);
        ordered.add_shares(weights[r], requests[r].multiplier, sum, 1, shares);
        shares += n * kept_columns(n);
      }
    }
  }
}

void ranked_log_sums_backward(const SortedRows& rows, const std::vector<RankedSum>& requests, const float* kept, const double* grads,
                              float* dz) {
  if (kept != nullptr) return pull_by_shares(rows, requests, kept, grads, dz);
  const int64_t n = rows.n, dim = rows.dim, step = piece_rows(n);
  const AllWeights weights(requests);
  std::deque<OrderedRow> ordered_rows = a_row_for_each_thread(n);
  const int64_t panel = std::clamp(kPanelFloats / n / step * step, step, kTile), blocks = block_count(n);
  const Floats panels(panel * n);

  const auto row_weights = [&](int64_t i, float* s, OrderedRow& ordered) {  // turns the row's scores into its pairs' weights
    ordered.sort(rows, i, s);
    std::fill_n(s, n, 0.0f);
    for (size_t r = 0; r < requests.size(); ++r) {
      const double factor = row_factor(rows, requests[r], grads[static_cast<int64_t>(r) * n + i]);
      if (!requests[r].has_gradient() || factor == 0) continue;
      const float k = requests[r].multiplier;
      ordered.add_shares(weights[r], k, ordered.sum(weights[r], k), factor, s);
    }
  };

  for (int64_t begin = 0; begin < n; begin += panel) {
    const Block all{begin, std::min(n, begin + panel)};
    const int64_t pieces = (all.size() + step - 1) / step;
    float* w = panels.data();
#pragma omp parallel
    {
#pragma omp for schedule(dynamic)
      for (int64_t index = 0; index < pieces; ++index) {
        const Block piece{begin + index * step, std::min(all.end, begin + (index + 1) * step)};
        float* s = w + (piece.begin - begin) * n;
        piece_scores(rows, piece, s);
        for (int64_t i = piece.begin; i < piece.end; ++i) {
          row_weights(i, s + (i - piece.begin) * n, ordered_rows[static_cast<size_t>(omp_get_thread_num())]);
        }
      }
#pragma omp for schedule(static)
      for (int64_t index = 0; index < pieces; ++index) {
        const Block piece{begin + index * step, std::min(all.end, begin + (index + 1) * step)};
        product_nn(piece.size(), n, dim, w + (piece.begin - begin) * n, n, rows.z, true, dz + piece.begin * dim);
      }
#pragma omp for schedule(static)
      for (int64_t index = 0; index < blocks; ++index) {
        const Block columns = block(n, index);
        add_product_tn(all.size(), columns.size(), dim, w + columns.begin, n, rows.z + begin * dim, dz + columns.begin * dim);
      }
    }
  }
}

}  // namespace debias::kernels
