// The bias columns of a feature table as numbers for erasure: one-hot columns for each categorical one, and numeric ones standardised, all
// stacked.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "debias/features/table_rows.h"

namespace debias {

struct BiasDesign {
  at::Tensor z;             // double [n, K]; 0 in rows that are not known
  std::vector<bool> known;  // [n]: every bias column of the row is known
};

// Bias design of the rows `places`, in that order.
BiasDesign bias_design(const TableRows& rows, const std::vector<int64_t>& places);

}  // namespace debias
