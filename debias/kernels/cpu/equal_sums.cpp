#include "debias/kernels/equal_sums.h"

#include <cstddef>
#include <vector>

namespace debias::kernels {
namespace {

std::vector<int32_t> group_starts(const SortedRows& rows) {
  std::vector<int32_t> starts;
  for (int64_t i = 0; i < rows.n; i = rows.last[i]) starts.push_back(static_cast<int32_t>(i));
  return starts;
}

// sum over rows begin..end of weights[i] z_i (weights null: 1)
std::vector<double> weighted_sum(const SortedRows& rows, int64_t begin, int64_t end, const double* weights) {
  std::vector<double> sum(static_cast<size_t>(rows.dim), 0.0);
  for (int64_t i = begin; i < end; ++i) {
    const float* z = rows.z + i * rows.dim;
    const double weight = weights == nullptr ? 1 : weights[i];
    for (int64_t d = 0; d < rows.dim; ++d) sum[static_cast<size_t>(d)] += weight * z[d];
  }
  return sum;
}

}  // namespace

void equal_sums_forward(const SortedRows& rows, double* sums) {
  const std::vector<int32_t> starts = group_starts(rows);
#pragma omp parallel for schedule(dynamic)
  for (size_t g = 0; g < starts.size(); ++g) {
    const int64_t begin = starts[g], end = rows.last[begin];
    const std::vector<double> total = weighted_sum(rows, begin, end, nullptr);
    for (int64_t i = begin; i < end; ++i) {
      const float* z = rows.z + i * rows.dim;
      double dot = 0;
      for (int64_t d = 0; d < rows.dim; ++d) dot += z[d] * (total[static_cast<size_t>(d)] - z[d]);
      sums[i] = rows.scale * dot;
    }
  }
}

void equal_sums_backward(const SortedRows& rows, const double* grads, float* dz) {
  const std::vector<int32_t> starts = group_starts(rows);
#pragma omp parallel for schedule(dynamic)
  for (size_t g = 0; g < starts.size(); ++g) {
    const int64_t begin = starts[g], end = rows.last[begin];
    const std::vector<double> total = weighted_sum(rows, begin, end, nullptr), pulled = weighted_sum(rows, begin, end, grads);
    for (int64_t i = begin; i < end; ++i) {
      const float* z = rows.z + i * rows.dim;
      float* out = dz + i * rows.dim;
      for (int64_t d = 0; d < rows.dim; ++d) {
        const double slope = grads[i] * (total[static_cast<size_t>(d)] - 2.0 * z[d]) + pulled[static_cast<size_t>(d)];
        out[d] += static_cast<float>(rows.scale * slope);
      }
    }
  }
}

}  // namespace debias::kernels
