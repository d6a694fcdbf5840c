// Rows divided by their norms.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace debias {

// A zero row stays zero. Numeric error, with `who` before it, when a row is not finite; the form with labels: data error when their lengths
// differ.
at::Tensor unit_rows(const at::Tensor& rows, const std::string& who);
at::Tensor unit_rows(const at::Tensor& rows, const std::vector<int64_t>& labels, const std::string& who);

}  // namespace debias
