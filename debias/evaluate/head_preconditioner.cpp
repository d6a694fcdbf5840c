#include "debias/evaluate/head_preconditioner.h"

#include <ATen/ATen.h>

#include "debias/runtime/each_alone.h"

namespace debias {

at::Tensor head_preconditioner(const at::Tensor& covariance, double l2) {
  const OneThread alone;
  const at::NoGradGuard no_grad;
  at::Tensor bound = covariance / 2;
  bound.diagonal().add_(l2 + 1e-9);
  const at::Tensor factor = at::linalg_cholesky(bound);
  return at::linalg_solve_triangular(factor, at::eye(covariance.size(0), at::kDouble), /*upper=*/false).contiguous();
}

}  // namespace debias
