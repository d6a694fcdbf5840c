#include "debias/losses/sorted_batch.h"

#include <ATen/ATen.h>

namespace debias {

kernels::SortedRows SortedBatch::rows(double temperature) const {
  return {.z = z.const_data_ptr<float>(),
          .n = z.size(0),
          .dim = z.size(1),
          .first = first.const_data_ptr<int32_t>(),
          .last = last.const_data_ptr<int32_t>(),
          .scale = static_cast<float>(1 / temperature),
          .largest_norm2 = largest_norm2};
}

at::Tensor SortedBatch::sorted(const at::Tensor& per_row) const { return order.defined() ? per_row.index_select(-1, order) : per_row; }
at::Tensor SortedBatch::unsorted(const at::Tensor& per_place) const {
  return order.defined() ? per_place.index_select(-1, place) : per_place;
}

SortedBatch sort_by_group(const at::Tensor& z, const at::Tensor& group) {
  const int64_t n = group.size(0);
  SortedBatch batch;
  batch.source_z = z;
  batch.source_group = group;
  at::Tensor sorted_group = group.contiguous();
  const bool as_given = n < 2 || sorted_group.slice(0, 1).ge(sorted_group.slice(0, 0, -1)).all().item<bool>();
  if (as_given) {
    batch.z = z.contiguous();
  } else {
    batch.order = group.argsort(true, 0, false);
    batch.place = at::empty_like(batch.order).scatter_(0, batch.order, at::arange(n, batch.order.options()));
    sorted_group = group.index_select(0, batch.order);
    batch.z = z.index_select(0, batch.order);
  }
  const auto counts = std::get<2>(at::unique_consecutive(sorted_group, false, true));
  const at::Tensor ends = counts.cumsum(0);
  batch.first = (ends - counts).repeat_interleave(counts).to(at::kInt);
  batch.last = ends.repeat_interleave(counts).to(at::kInt);
  const at::Tensor norms = at::linalg_vector_norm(batch.z.detach(), 2, at::IntArrayRef{1});
  batch.largest_norm2 = n == 0 ? 0.0f : norms.max().square().item<float>();
  return batch;
}

}  // namespace debias
