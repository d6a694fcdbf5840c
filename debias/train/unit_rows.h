// Rows of norm 1: what pairwise objectives read.
#pragma once

#include <ATen/core/Tensor.h>

namespace debias {

// Each row of the last dimension divided by its norm, which is taken as at least 1e-12.
at::Tensor unit_rows(const at::Tensor& rows);

}  // namespace debias
