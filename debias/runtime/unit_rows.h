// Rows of norm 1: what pairwise objectives read, and cosines are taken of.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace debias {

// Each row of the last dimension divided by its norm, which is taken as at least 1e-12: zero rows stay zero.
at::Tensor unit_rows(const at::Tensor& rows);

// The same; a numeric error that begins with `who` where a row is not finite.
at::Tensor unit_rows(const at::Tensor& rows, const std::string& who);

}  // namespace debias
