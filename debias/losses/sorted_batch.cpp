#include "debias/losses/sorted_batch.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace debias {

kernels::SortedRows SortedBatch::rows(double temperature) const {
  return {.z = z.const_data_ptr<float>(),
          .n = z.size(0),
          .dim = z.size(1),
          .first = first.const_data_ptr<int32_t>(),
          .last = last.const_data_ptr<int32_t>(),
          .scale = static_cast<float>(1 / temperature),
          .largest_norm2 = largest_norm2,
          .bfloat16_products = bfloat16_products};
}

at::Tensor SortedBatch::sorted(const at::Tensor& per_row) const { return order.defined() ? per_row.index_select(-1, order) : per_row; }
at::Tensor SortedBatch::unsorted(const at::Tensor& per_place) const {
  return order.defined() ? per_place.index_select(-1, place) : per_place;
}

namespace {

float largest_norm2(const at::Tensor& z) {
  const at::Tensor norms = at::linalg_vector_norm(z, 2, at::IntArrayRef{1});
  const float* all = norms.const_data_ptr<float>();
  float most = 0;
  for (int64_t i = 0; i < norms.size(0); ++i) most = all[i] > most || std::isnan(all[i]) ? all[i] : most;  // NaN stays
  return most * most;
}

}  // namespace

SortedBatch sort_by_group(const at::Tensor& z, const at::Tensor& group) {
  const int64_t n = group.size(0);
  SortedBatch batch;
  batch.source_z = z;
  batch.source_group = group;
  const at::Tensor groups = group.contiguous();
  std::vector<int64_t> sorted(groups.const_data_ptr<int64_t>(), groups.const_data_ptr<int64_t>() + n);
  if (std::is_sorted(sorted.begin(), sorted.end())) {
    batch.z = z.contiguous();
  } else {
    batch.order = at::arange(n, at::kLong);
    batch.place = at::empty_like(batch.order);
    auto *order = batch.order.data_ptr<int64_t>(), *place = batch.place.data_ptr<int64_t>();
    std::stable_sort(order, order + n,
                     [&](int64_t a, int64_t b) { return sorted[static_cast<size_t>(a)] < sorted[static_cast<size_t>(b)]; });
    for (int64_t i = 0; i < n; ++i) place[order[i]] = i;
    std::sort(sorted.begin(), sorted.end());
    batch.z = z.index_select(0, batch.order);
  }
  batch.first = at::empty({n}, at::kInt);
  batch.last = at::empty({n}, at::kInt);
  auto *first = batch.first.data_ptr<int32_t>(), *last = batch.last.data_ptr<int32_t>();
  for (int64_t begin = 0, end = 0; begin < n; begin = end) {
    while (end < n && sorted[static_cast<size_t>(end)] == sorted[static_cast<size_t>(begin)]) ++end;
    std::fill(first + begin, first + end, static_cast<int32_t>(begin));
    std::fill(last + begin, last + end, static_cast<int32_t>(end));
  }
  batch.largest_norm2 = largest_norm2(batch.z.detach());
  return batch;
}

}  // namespace debias
