// Groups of rows and their moments, which replace pairs of rows if only sums of cosines and of their squares are needed.
//
//   m_g = sum of z over the rows of group g, [D]        M_g = sum of z z^T, [D, D]
//   over all ordered pairs of a row of g and a row of h:   sum c = m_g . m_h,   sum c^2 = <M_g, M_h>,   c = z_a . z_j
//
// The sums are exact and their cost is linear in the rows, n D^2 for M. Differences of such sums cancel: form them in double.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "debias/losses/objective.h"

namespace debias {

// The n = V*B rows of a regulariser with their keys, view-major.
struct KeyedRows {
  at::Tensor z;      // [n, D] float32 or float64: half precision becomes float32
  at::Tensor label;  // int64 [n], undefined when the input has none
  at::Tensor bias;   // int64 [n], undefined when the input has none

  KeyedRows picked(const at::Tensor& rows) const;  // int64 indices
};

// Usage error where the blocked engine is requested: a regulariser sums by groups of rows (fused), or over all pairs (dense).
void refuse_blocked(const ObjectiveInput& input, const char* objective);

// Data error: z that is not floating point [B, V, D] and not empty, keys that are not int64 [B].
KeyedRows keyed_rows(const ObjectiveInput& input, const char* objective);

// Rows ordered by (label, bias); labels and biases numbered 0, 1, ... in increasing order.
struct RowGroups {
  at::Tensor order;            // int64 [n]: the rows, group by group, in their own order within one
  std::vector<int64_t> sizes;  // [G] rows of each group, none empty
  at::Tensor counts;           // the same, double [G]
  at::Tensor group_of;         // int64 [n], of the rows in that order
  at::Tensor label, bias;      // int64 [G]
  int64_t labels = 0, biases = 0;
};
RowGroups row_groups(const at::Tensor& label, const at::Tensor& bias);

// Merged groups: the groups themselves, all of one label, all of one bias label, all rows.
enum class Merged { kGroups, kLabels, kBiases, kAll };
at::Tensor merged(const at::Tensor& per_group, const RowGroups& groups, Merged into);  // sums along dimension 0
at::Tensor place_of(const RowGroups& groups, Merged into);                             // int64 [G]: where group g went

// double [G, D, D]: M of consecutive runs of double rows. Differentiable once; a second derivative is rejected (usage error).
at::Tensor outer_products(const at::Tensor& rows, const std::vector<int64_t>& sizes);

// double [4]: sum of <M, M> over the groups, labels, biases and all rows (in the order of Merged), of double rows in the groups' order.
// Differentiable once.
at::Tensor squared_products(const at::Tensor& rows, const RowGroups& groups);

// For each row, the sum of the rows [n, D] it pairs with: two rows of one label are a pair if the later one has the smaller bias
// label. In double, on the CPU, O(n D) times the number of bias labels; differentiable any number of times.
at::Tensor partner_sums(const at::Tensor& rows, const at::Tensor& label, const at::Tensor& bias);

}  // namespace debias
