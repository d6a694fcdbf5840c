// The preconditioner of multinomial logistic regression: coordinates in which its Hessian is at most about 1, for L-BFGS (descent.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>

namespace debias {

// M of W = V M: the inverse of the lower Cholesky factor of 1/2 covariance + l2, double [D, D]. The softmax's own part of the Hessian is at
// most 1/2 (Boehning 1992, https://doi.org/10.1007/BF00048682). One thread computes it.
at::Tensor head_preconditioner(const at::Tensor& covariance, double l2);

// The number of rows whose covariance suffices for it; with all of more rows, it would take longer than it saves.
constexpr int64_t preconditioner_rows(int64_t dimensions) { return std::max<int64_t>(5000, 4 * dimensions); }

}  // namespace debias
