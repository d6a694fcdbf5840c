// The bias columns of a feature table as numbers for erasure: one-hot for each categorical column, standardised for
// each numeric one, concatenated.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "debias/features/table_rows.h"

namespace debias {

struct BiasDesign {
  at::Tensor z;             // double [n, K]; 0 in unknown rows
  std::vector<bool> known;  // [n]: whether all bias columns of the row are known
};

// The bias design of the rows `places`, in that order.
BiasDesign bias_design(const TableRows& rows, const std::vector<int64_t>& places);

}  // namespace debias
