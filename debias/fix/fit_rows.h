// The rows that heads and erasures are fitted to, with their sets of weights.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "debias/features/bias_groups.h"
#include "debias/features/table_rows.h"
#include "debias/fix/standard_rows.h"

namespace debias {

struct FitRows {
  StandardRows x;
  std::vector<int64_t> labels, groups;  // [n]; a group is kUnknown if one of its bias labels is
  at::Tensor targets;                   // int64 [n]: the labels
  at::Tensor z;                         // double [n, K]
  at::Tensor plain;                     // double [n]: 1, or the row's importance
  // double [n], with the mean of plain; 0 without a group. Classes weigh equally, and so do the bias labels of a class that have rows: a class
  // with fewer of them is not rarer for it. With several bias columns this holds for each column by itself: plain weights are scaled to it
  // by one column after the other (raking: Deming and Stephan 1940, https://doi.org/10.1214/aoms/1177731829). Equal weights of all joint
  // values would rest on the few rows of the rarest.
  at::Tensor balanced;
  at::Tensor erased;  // double [n]: the same over rows with all bias columns known, for erasure
  int64_t classes = 0;

  int64_t size() const { return x.size(); }
  WeightedRows weighted(const at::Tensor& weights) const { return {&x, z, targets, weights, classes}; }
};

// x are the rows `places` of the table, in that order, `groups` those of `bias`; `importance` may be empty.
FitRows fit_rows(StandardRows x, const TableRows& table, const JointBias& bias, const BiasGroups& groups,
                 const std::vector<int64_t>& places, const std::vector<double>& importance = {});

}  // namespace debias
