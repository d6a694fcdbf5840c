// Anchors in the order of their groups, as the kernels want them.
#pragma once

#include <ATen/core/Tensor.h>

#include "debias/kernels/sorted_rows.h"

namespace debias {

struct SortedBatch {
  at::Tensor source_anchors, source_group;  // what it was made from
  at::Tensor order;                         // int64 [n]: row of each sorted place; undefined where they are the same
  at::Tensor place;                         // int64 [n]: sorted place of each row
  at::Tensor z;                             // float32 [n, D] contiguous, in the graph
  at::Tensor first, last;                   // int32 [n]: the group of a place
  float largest_norm2 = 0;
  bool bfloat16_products = false;

  kernels::SortedRows rows(double temperature) const;
  at::Tensor sorted(const at::Tensor& per_row) const;  // the last dimension, from row to place
  at::Tensor unsorted(const at::Tensor& per_place) const;
};

// Anchors float32 [B, V, D] or [n, D] on the CPU, group int64 [n] in the order of rows. Nothing is copied if the anchors are
// in the order of their groups.
SortedBatch sort_by_group(const at::Tensor& anchors, const at::Tensor& group);

}  // namespace debias
