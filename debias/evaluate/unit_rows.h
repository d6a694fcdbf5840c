// Rows divided by their norms, one label each.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "debias/runtime/unit_rows.h"  // IWYU pragma: export

namespace debias {

// As in unit_rows.h; a data error if rows and labels differ in number.
at::Tensor unit_rows(const at::Tensor& rows, const std::vector<int64_t>& labels, const std::string& who);

}  // namespace debias
