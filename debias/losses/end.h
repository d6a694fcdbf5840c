// EnD, "entangling and disentangling": a regulariser that spreads rows of one bias label and gathers rows of one label across bias labels.
//
//   value = alpha R_perp + beta R_par,   c_ij = z_i . z_j over unordered pairs of the n = V*B rows
//   R_perp = (1 / M) sum over bias labels b of | sum over pairs with b_i = b_j = b of c_ij |,   M = number of all such pairs
//   R_par  = 1 - mean over pairs with y_i = y_j, b_i != b_j of (1 + c_ij) / 2
//
// A term without pairs is 0. With full_pairs = false, as in the released code, R_par counts only pairs whose later row, view-major, has the
// smaller bias label: a random half of them in a shuffled batch, so the value depends on the order of the rows. full_pairs = true counts
// all.
//
// Input: z [B, V, D] with rows of unit norm, V >= 1; alpha, beta >= 0; labels and bias labels. A row of unknown bias label (-1) is in no
// pair and has no value; a row of unknown label is in no pair of R_par.
// Diagnostics: per_anchor is the value, for every row. clamped counts the terms without pairs; if both have none, no anchor is used.
// Engines: fused sums rows by group, for the half pairs in their order, in double and O(n D); dense forms the n x n matrix.
// Errors: usage error for options out of range and missing labels or bias labels; data error for shapes and dtypes.
//
// Source: Tartaglione, Barbano and Grangetto 2021 (CVPR), and their released code, which also clamps c to [-1, 1]: no difference for unit
// rows.
#pragma once

#include <ATen/core/Tensor.h>

#include "debias/core/options.h"
#include "debias/losses/objective.h"

namespace debias {

struct EndOptions {
  static constexpr char kName[] = "end";
  double alpha = 0.1;
  double beta = 0.1;
  bool full_pairs = false;
  void describe(OptionVisitor& o) {
    o("alpha", alpha, Range::at_least(0), "weight of R_perp, which spreads embeddings of one bias label");
    o("beta", beta, Range::at_least(0), "weight of R_par, which gathers embeddings of one class across bias labels");
    o("full_pairs", full_pairs, "use all pairs of R_par, not only those whose later embedding has the smaller bias label");
    o.with_variants();
    o.variant("paper", "full_pairs", "true");
  }

  ObjectiveResult loss(const ObjectiveInput& input) const;  // the options must be in their ranges
};

inline ObjectiveResult end(const ObjectiveInput& input, const EndOptions& options) { return checked_loss(input, options); }
inline ObjectiveResult end(const at::Tensor& z, const at::Tensor& labels, const at::Tensor& bias, const EndOptions& options = {}) {
  return checked_loss({.z = z, .labels = labels, .bias = bias}, options);
}

}  // namespace debias
