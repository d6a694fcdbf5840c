// The rows that heads and erasures are fitted to, with their sets of weights.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "debias/features/bias_groups.h"
#include "debias/features/table_rows.h"
#include "debias/fix/class_moments.h"
#include "debias/fix/standard_rows.h"

namespace debias {

struct FitRows {
  StandardRows x;
  std::vector<int64_t> labels, groups;  // [n]; a group is kUnknown if one of its bias labels is
  at::Tensor targets;                   // int64 [n]: the labels
  at::Tensor z;                         // double [n, K] (bias_columns.h)
  at::Tensor plain;                     // double [n]: 1, or the row's importance
  // double [n]: plain / (rows of its group * groups of its class), scaled to the mean of plain; 0 without a group. Classes weigh equally, and
  // so do the groups of a class that have rows: a class with fewer groups is not rarer for it.
  at::Tensor balanced;
  at::Tensor erased;  // double [n]: the same over rows with all bias columns known, for erasure
  int64_t classes = 0;

  int64_t size() const { return x.size(); }
  WeightedRows weighted(const at::Tensor& weights) const { return {&x, z, targets, weights, classes}; }
};

// x are the rows `places` of the table, in that order; `importance` may be empty.
FitRows fit_rows(StandardRows x, const TableRows& table, const BiasGroups& groups, const std::vector<int64_t>& places,
                 const std::vector<double>& importance = {});

}  // namespace debias
