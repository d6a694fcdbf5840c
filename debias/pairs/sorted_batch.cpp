#include "debias/pairs/sorted_batch.h"

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

SortedBatch sort_by_group(const at::Tensor& anchors, const at::Tensor& group) {
  const int64_t n = group.size(0), views = anchors.dim() == 3 ? anchors.size(1) : 1, samples = views == 0 ? 0 : n / views;
  SortedBatch batch;
  batch.source_anchors = anchors;
  batch.source_group = group;
  // In memory view v of sample i is at i*V + v; it is row v*B + i.
  const at::Tensor memory = anchors.reshape({n, anchors.size(-1)}), groups = group.contiguous();
  const int64_t* group_of = groups.const_data_ptr<int64_t>();
  const auto row_of = [&](int64_t place) { return place % views * samples + place / views; };
  std::vector<int64_t> sorted(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) sorted[static_cast<size_t>(i)] = group_of[row_of(i)];
  at::Tensor from;  // int64 [n]: index in memory of each place's row
  if (std::is_sorted(sorted.begin(), sorted.end())) {
    batch.z = memory.contiguous();
  } else {
    from = at::arange(n, at::kLong);
    auto* places = from.data_ptr<int64_t>();
    std::stable_sort(places, places + n,
                     [&](int64_t a, int64_t b) { return sorted[static_cast<size_t>(a)] < sorted[static_cast<size_t>(b)]; });
    std::sort(sorted.begin(), sorted.end());
    batch.z = memory.index_select(0, from);
  }
  if (views > 1 || from.defined()) {
    batch.order = at::empty({n}, at::kLong);
    batch.place = at::empty({n}, at::kLong);
    auto *order = batch.order.data_ptr<int64_t>(), *place = batch.place.data_ptr<int64_t>();
    const int64_t* places = from.defined() ? from.const_data_ptr<int64_t>() : nullptr;
    for (int64_t i = 0; i < n; ++i) place[order[i] = row_of(places != nullptr ? places[i] : i)] = i;
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
