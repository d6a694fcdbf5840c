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
constexpr int64_t kPiece = 16;                      // rows that one thread takes at a time
constexpr int64_t kPanelFloats = int64_t{4} << 20;  // of a panel of rows against all columns

// Weights by rank relative to the largest, whose log is `shift`; -inf where all are zero.
struct RankWeights {
  double shift = -std::numeric_limits<double>::infinity();
  std::vector<float> relative;  // of ranks 1..
};

RankWeights rank_weights(const RankedSum& request) {
  RankWeights weights;
  for (int64_t r = 0; r < request.ranks; ++r) weights.shift = std::max(weights.shift, request.log_weight[r]);
  for (int64_t r = 0; r < request.ranks; ++r) {
    weights.relative.push_back(std::isfinite(weights.shift) ? static_cast<float>(std::exp(request.log_weight[r] - weights.shift)) : 0);
  }
  return weights;
}

// Unequal columns of a row, ordered by score. Scores become integers of the same order, with the column below them: one sort does both.
class Ordered {
 public:
  explicit Ordered(int64_t n) : keys_(static_cast<size_t>(n)), columns_(static_cast<size_t>(n)), scores_(n), weights_(n) {}

  void sort(const SortedRows& rows, int64_t row, const float* s) {
    count_ = 0;
    for (const auto& [begin, end] : {Stretch{0, rows.first[row]}, Stretch{rows.last[row], rows.n}}) {
      for (int64_t j = begin; j < end; ++j) {
        const auto bits = std::bit_cast<uint32_t>(s[j] + 0.0f);  // -0 becomes 0
        const uint32_t ordered = bits ^ ((bits >> 31) != 0 ? 0xffffffffu : 0x80000000u);
        keys_[static_cast<size_t>(count_++)] = uint64_t{ordered} << 32 | static_cast<uint32_t>(j);
      }
    }
    sorter_(keys_.data(), static_cast<size_t>(count_), hwy::SortAscending());
    for (int64_t p = 0; p < count_; ++p)
      columns_[static_cast<size_t>(p)] = static_cast<int32_t>(keys_[static_cast<size_t>(p)] & 0xffffffffu);
    gather(columns_.data(), s);
  }

  // The order as an earlier sort of the same scores left it.
  void restore(const SortedRows& rows, int64_t row, const float* s, const int32_t* columns) {
    count_ = rows.n - (rows.last[row] - rows.first[row]);
    gather(columns, s);
  }

  // The weights in order of scores; ties share the largest rank.
  const float* weigh(const RankWeights& weights) {
    if (weighed_ == &weights) return weights_.data();
    weighed_ = &weights;
    float shared = 0;
    for (int64_t p = count_ - 1; p >= 0; --p) {
      if (p + 1 == count_ || scores_.data()[p] != scores_.data()[p + 1]) shared = weights.relative[static_cast<size_t>(p)];
      weights_.data()[p] = shared;
    }
    return weights_.data();
  }

  int64_t count() const { return count_; }
  const int32_t* columns() const { return used_; }
  const float* scores() const { return scores_.data(); }
  float top(float k) const { return count_ == 0 ? 0 : std::max(k * scores_.data()[0], k * scores_.data()[count_ - 1]); }

 private:
  void gather(const int32_t* columns, const float* s) {
    used_ = columns;
    weighed_ = nullptr;
    for (int64_t p = 0; p < count_; ++p) scores_.data()[p] = s[columns[p]] + 0.0f;
  }

  std::vector<uint64_t> keys_;
  std::vector<int32_t> columns_;
  Floats scores_, weights_;
  const int32_t* used_ = nullptr;
  const RankWeights* weighed_ = nullptr;  // whose weights weights_ holds
  int64_t count_ = 0;
  hwy::Sorter sorter_;
};

struct Thread {
  explicit Thread(int64_t n) : ordered(n), values(n) {}
  Ordered ordered;
  Floats values;
};

std::deque<Thread> threads_for(int64_t n) {  // a deque never moves its elements, which a sorter would not survive
  std::deque<Thread> threads;
  for (int t = 0; t < omp_get_max_threads(); ++t) threads.emplace_back(n);
  return threads;
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
      weights_.push_back(rank_weights(request));
    }
  }
  const RankWeights& operator[](size_t request) const { return weights_[of_[request]]; }

 private:
  std::vector<const RankedSum*> tables_;
  std::deque<RankWeights> weights_;
  std::vector<size_t> of_;
};

}  // namespace

void ranked_log_sums_forward(const SortedRows& rows, const std::vector<RankedSum>& requests, double* log_sums, int32_t* order) {
  const int64_t n = rows.n, pieces = (n + kPiece - 1) / kPiece;
  const AllWeights weights(requests);
  std::deque<Thread> threads = threads_for(n);
  const Floats panels(omp_get_max_threads() * kPiece * n);
#pragma omp parallel for schedule(dynamic)
  for (int64_t index = 0; index < pieces; ++index) {
    const Block piece{index * kPiece, std::min(n, (index + 1) * kPiece)};
    float* s = panels.data() + omp_get_thread_num() * kPiece * n;
    Ordered& ordered = threads[static_cast<size_t>(omp_get_thread_num())].ordered;
    piece_scores(rows, piece, s);
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      ordered.sort(rows, i, s + (i - piece.begin) * n);
      if (order != nullptr) std::copy_n(ordered.columns(), ordered.count(), order + i * n);
      for (size_t r = 0; r < requests.size(); ++r) {
        const float k = requests[r].multiplier, top = ordered.top(k);
        double sum = 0;
        const float* by_order = ordered.weigh(weights[r]);
        for (int64_t p = 0; p < ordered.count(); p += kTile) {  // long sums go on in double
          sum += weighted_exp_sum(ordered.scores() + p, std::min(kTile, ordered.count() - p), k, top, by_order + p);
        }
        log_sums[static_cast<int64_t>(r) * n + i] = sum == 0 ? kEmpty : std::log(sum) + top + weights[r].shift;
      }
    }
  }
}

void ranked_log_sums_backward(const SortedRows& rows, const std::vector<RankedSum>& requests, const double* log_sums, const int32_t* order,
                              const double* grads, float* dz) {
  const int64_t n = rows.n, dim = rows.dim;
  const AllWeights weights(requests);
  std::deque<Thread> threads = threads_for(n);
  const int64_t panel = std::clamp(kPanelFloats / n / kPiece * kPiece, kPiece, kTile), blocks = block_count(n);
  const Floats panels(panel * n);

  const auto row_weights = [&](int64_t i, float* s, Thread& own) {  // turns the row's scores into its pairs' weights
    if (order != nullptr) {
      own.ordered.restore(rows, i, s, order + i * n);
    } else {
      own.ordered.sort(rows, i, s);
    }
    float* values = own.values.data();
    std::fill_n(values, own.ordered.count(), 0.0f);
    for (size_t r = 0; r < requests.size(); ++r) {
      const double log_sum = log_sums[static_cast<int64_t>(r) * n + i], grad = grads[static_cast<int64_t>(r) * n + i];
      if (log_sum <= kEmpty / 2 || grad == 0) continue;
      const float k = requests[r].multiplier, top = own.ordered.top(k);
      const auto a = static_cast<float>(static_cast<double>(k) * rows.scale * grad * std::exp(top + weights[r].shift - log_sum));
      add_weighted_exps(own.ordered.scores(), own.ordered.count(), k, top, a, own.ordered.weigh(weights[r]), values);
    }
    std::fill_n(s, n, 0.0f);
    for (int64_t p = 0; p < own.ordered.count(); ++p) s[own.ordered.columns()[p]] = values[p];
  };

  for (int64_t begin = 0; begin < n; begin += panel) {
    const Block all{begin, std::min(n, begin + panel)};
    const int64_t pieces = (all.size() + kPiece - 1) / kPiece;
    float* w = panels.data();
#pragma omp parallel
    {
#pragma omp for schedule(dynamic)
      for (int64_t index = 0; index < pieces; ++index) {
        const Block piece{begin + index * kPiece, std::min(all.end, begin + (index + 1) * kPiece)};
        float* s = w + (piece.begin - begin) * n;
        piece_scores(rows, piece, s);
        for (int64_t i = piece.begin; i < piece.end; ++i) {
          row_weights(i, s + (i - piece.begin) * n, threads[static_cast<size_t>(omp_get_thread_num())]);
        }
      }
#pragma omp for schedule(static)
      for (int64_t index = 0; index < pieces; ++index) {
        const Block piece{begin + index * kPiece, std::min(all.end, begin + (index + 1) * kPiece)};
        add_product_nn(piece.size(), n, dim, w + (piece.begin - begin) * n, n, rows.z, dz + piece.begin * dim);
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
