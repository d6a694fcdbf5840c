// Products of runs of rows with D x D matrices, and sums over half of the pairs of rows (python/debias/_engine/groups.py).
//
// Rows are double [n, d] and lie group by group; `sizes` [groups] counts the rows of each. Groups are shared among threads: their products
// are too small for threads of their own. One group alone has the threads of the BLAS.
#include <omp.h>

#include <algorithm>
#include <new>
#include <vector>

#include "debias/kernels/gram_products.h"
#include "python/engine/engine.h"

namespace debias::engine {
namespace {

int threads_for(int64_t groups) { return static_cast<int>(std::clamp<int64_t>(groups, 1, omp_get_max_threads())); }

// Scratch of each thread, allocated before a parallel region because no exception may leave one. It begins where torch's tensors begin:
// MKL's bits depend on it.
class ThreadScratch {
 public:
  ThreadScratch(int64_t groups, int64_t count)
      : stride_((count + kDoubles - 1) / kDoubles * kDoubles),
        values_(static_cast<double*>(
            ::operator new[](static_cast<size_t>(threads_for(groups)) * static_cast<size_t>(stride_) * sizeof(double), kLine))) {}
  ThreadScratch(const ThreadScratch&) = delete;
  ThreadScratch& operator=(const ThreadScratch&) = delete;
  ~ThreadScratch() { ::operator delete[](values_, kLine); }
  double* own() const { return values_ + omp_get_thread_num() * stride_; }

 private:
  static constexpr std::align_val_t kLine{64};
  static constexpr int64_t kDoubles = 8;  // of a line
  int64_t stride_;
  double* values_;
};

std::vector<int64_t> starts_of(int64_t groups, const int64_t* sizes) {
  std::vector<int64_t> starts(groups + 1);
  for (int64_t g = 0; g < groups; ++g) starts[g + 1] = starts[g] + sizes[g];
  return starts;
}

// `function(g, begin, end)` throws nothing.
template <class Function>
void for_each_group(const std::vector<int64_t>& starts, const Function& function) {
  const auto groups = static_cast<int64_t>(starts.size()) - 1;
#pragma omp parallel for schedule(dynamic) num_threads(threads_for(groups)) if (groups > 1)
  for (int64_t g = 0; g < groups; ++g) function(g, starts[g], starts[g + 1]);
}

void add(int64_t d, double factor, const double* values, double* out) {
  for (int64_t k = 0; k < d; ++k) out[k] += factor * values[k];
}

// By eight partial sums, which the compiler can hold in vectors.
double squared_norm(int64_t count, const double* values) {
  double sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int64_t k = 0; k < 8; ++k) sums[k] += values[i + k] * values[i + k];
  }
  for (; i < count; ++i) sums[0] += values[i] * values[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// Walks the rows of one label. A row is added to the running sums of the bias labels that may meet it later on: those below its own on the
// way forward (partners come later and have less), above it on the way back.
void sweep(int64_t begin, int64_t end, int64_t d, int64_t biases, const int64_t* bias, const double* rows, bool back, double* met,
           double* out) {
  std::fill_n(met, biases * d, 0.0);
  for (int64_t step = 0; step < end - begin; ++step) {
    const int64_t i = back ? end - 1 - step : begin + step;
    const double *row = rows + i * d, *own = met + bias[i] * d;
    add(d, 1, own, out + i * d);
    for (int64_t b = back ? bias[i] + 1 : 0; b < (back ? biases : bias[i]); ++b) add(d, 1, row, met + b * d);
  }
}

}  // namespace
}  // namespace debias::engine

using namespace debias::engine;

// products [groups, d, d]: the sum of w z z^T over the rows of each group; weights [n], or null for ones. squares [groups]: the sum of
// squares of each product, taken while the cache holds it.
DEBIAS_C_INTERFACE int debias_group_products(int64_t d, int64_t groups, const int64_t* sizes, const double* rows, const double* weights,
                                             double* products, double* squares) {
  return guarded([&] {
    const int64_t largest = groups == 0 ? 0 : *std::max_element(sizes, sizes + groups);
    const ThreadScratch scratch(groups, weights == nullptr ? 0 : largest * d);
    for_each_group(starts_of(groups, sizes), [=, &scratch](int64_t g, int64_t begin, int64_t end) {
      const double* own = rows + begin * d;
      double* out = products + g * d * d;
      if (weights == nullptr) {
        debias::kernels::gram(end - begin, d, own, out);
      } else {
        double* weighted = scratch.own();
        for (int64_t i = 0; i < end - begin; ++i) {
          std::transform(own + i * d, own + (i + 1) * d, weighted + i * d, [=](double value) { return weights[begin + i] * value; });
        }
        debias::kernels::cross(end - begin, d, own, weighted, out);
      }
      squares[g] = squared_norm(d * d, out);
    });
  });
}

// A row of group g times the sum over t of weights[t] matrices[places[t, g]], plus vectors[g], plus the row times its factor. places
// [terms, groups], matrices [any, d, d]; vectors [groups, d] and factors [n] may be null. The result for row i is out[order[i]], or out[i]
// if order is null, of floats if `single` and of doubles otherwise.
DEBIAS_C_INTERFACE int debias_group_times(int64_t d, int64_t groups, const int64_t* sizes, const double* rows, int64_t terms,
                                          const int64_t* places, const double* weights, const double* matrices, const double* vectors,
                                          const double* factors, const int64_t* order, int64_t single, void* out) {
  return guarded([&] {
    const int64_t square = d * d, largest = groups == 0 ? 0 : *std::max_element(sizes, sizes + groups);
    const bool direct = vectors == nullptr && factors == nullptr && order == nullptr && single == 0;
    const ThreadScratch sums(groups, square), results(groups, direct ? 0 : largest * d);
    for_each_group(starts_of(groups, sizes), [=, &sums, &results](int64_t g, int64_t begin, int64_t end) {
      const double* matrix = matrices + places[g] * square;
      if (terms > 1 || weights[0] != 1) {
        double* sum = sums.own();
        std::transform(matrix, matrix + square, sum, [=](double value) { return weights[0] * value; });
        for (int64_t t = 1; t < terms; ++t) {
          debias::kernels::add_scaled(square, weights[t], matrices + places[t * groups + g] * square, sum);
        }
        matrix = sum;
      }
      double* found = direct ? static_cast<double*>(out) + begin * d : results.own();
      debias::kernels::times_square(end - begin, d, rows + begin * d, matrix, found);
      if (direct) return;
      const double* vector = vectors == nullptr ? nullptr : vectors + g * d;
      for (int64_t i = begin; i < end; ++i, found += d) {
        if (vector != nullptr) add(d, 1, vector, found);
        if (factors != nullptr) add(d, factors[i], rows + i * d, found);
        const int64_t place = (order == nullptr ? i : order[i]) * d;
        if (single != 0) {
          std::transform(found, found + d, static_cast<float*>(out) + place, [](double value) { return static_cast<float>(value); });
        } else {
          std::copy_n(found, d, static_cast<double*>(out) + place);
        }
      }
    });
  });
}

// sums [n, d]: for each row, the sum of the rows that it forms a pair with. Two rows of one group are a pair if the later one has the
// smaller bias label; bias [n] counts from 0 to biases - 1. pairs [groups]: how many they are in each group.
DEBIAS_C_INTERFACE int debias_half_pair_sums(int64_t d, int64_t groups, const int64_t* sizes, int64_t biases, const int64_t* bias,
                                             const double* rows, double* sums, int64_t* pairs) {
  return guarded([&] {
    const ThreadScratch scratch(groups, biases * (d + 1));
    for_each_group(starts_of(groups, sizes), [=, &scratch](int64_t g, int64_t begin, int64_t end) {
      double *met = scratch.own(), *larger = met + biases * d;  // larger[b]: how many rows so far have a bias label above b
      std::fill_n(sums + begin * d, (end - begin) * d, 0.0);
      sweep(begin, end, d, biases, bias, rows, false, met, sums);
      sweep(begin, end, d, biases, bias, rows, true, met, sums);
      std::fill_n(larger, biases, 0.0);
      double count = 0;
      for (int64_t i = begin; i < end; ++i) {
        count += larger[bias[i]];
        for (int64_t b = 0; b < bias[i]; ++b) ++larger[b];
      }
      pairs[g] = static_cast<int64_t>(count);
    });
  });
}
