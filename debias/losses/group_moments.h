// Groups of rows and their moments. They replace sums over pairs of rows where only sums of cosines and of their squares are needed.
//
//   m_g = sum of z over the rows of group g, [D]        M_g = sum of z z^T, [D, D]
//   over all ordered pairs of a row of g and a row of h:   sum c = m_g . m_h,   sum c^2 = <M_g, M_h>,   c = z_a . z_j
//
// The sums are exact, and their cost is linear in the number of rows: n D^2 for M. Form differences of such sums in double, because they
// cancel.
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

// Usage error if the blocked engine is requested: a regulariser sums by groups of rows (fused) or over all pairs (dense).
void refuse_blocked(const ObjectiveInput& input, const char* objective);

// Whether a regulariser with engine auto forms all pairs so that the host need not wait: it reads how many groups there are and their
// sizes, which costs nothing on the CPU. On other devices the pairs of a batch are formed as long as they fit into the memory budget.
bool spares_waits(const ObjectiveInput& input);

// Data error unless z is floating point, [B, V, D] and not empty, and keys are int64 [B].
KeyedRows keyed_rows(const ObjectiveInput& input, const char* objective);

// Rows ordered by (label, bias); labels and biases numbered 0, 1, ... in increasing order.
struct KeyGroups {
  at::Tensor order;            // int64 [n]: the rows by group, in input order within a group
  std::vector<int64_t> sizes;  // [G] rows of each group, none empty
  at::Tensor counts;           // the same, double [G]
  at::Tensor group_of;         // int64 [n]: group of each row of `order`
  at::Tensor label, bias;      // int64 [G]
  int64_t labels = 0, biases = 0;
};
KeyGroups key_groups(const at::Tensor& label, const at::Tensor& bias);

// How groups are merged: not at all, by label, by bias label, or into one.
enum class Merged { kGroups, kLabels, kBiases, kAll };
at::Tensor merged(const at::Tensor& per_group, const KeyGroups& groups, Merged into);  // sums along dimension 0
at::Tensor place_of(const KeyGroups& groups, Merged into);  // int64 [G]: index of the merged group that contains group g

// double [G, D, D]: M of consecutive runs of double rows. Differentiable once; a second derivative is a usage error.
at::Tensor outer_products(const at::Tensor& rows, const std::vector<int64_t>& sizes);

// double [4]: sum of <M, M> over groups, labels, bias labels and all rows (the order of Merged). `rows` are double, in the order of the
// groups. Differentiable once.
at::Tensor squared_products(const at::Tensor& rows, const KeyGroups& groups);

// [n, D]: for each row, the sum of the rows that it forms a pair with. Two rows of one label are a pair if the later one has the smaller
// bias label. In double, on the CPU, O(n D) times the number of bias labels; differentiable any number of times.
at::Tensor partner_sums(const at::Tensor& rows, const at::Tensor& label, const at::Tensor& bias);

}  // namespace debias
