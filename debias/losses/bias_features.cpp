#include "debias/losses/bias_features.h"

#include <ATen/ATen.h>

#include "debias/core/error.h"

namespace debias {

at::Tensor unit_bias_features(const ObjectiveInput& input, const char* objective) {
  const at::Tensor& g = input.weights;
  if (g.dim() != 2 || g.size(0) != input.z.size(0) || !g.is_floating_point()) {
    throw data_error("{}: weights: expected floating-point bias features of shape [{}, F], one row per sample, found {} of shape {}",
                     objective, input.z.size(0), c10::toString(g.scalar_type()), c10::str(g.sizes()));
  }
  const at::Tensor wide = g.detach().to(input.z.device(), at::kDouble), norms = at::linalg_vector_norm(wide, 2, at::IntArrayRef{-1}, true);
  if (const at::Tensor bad = norms.gt(0).logical_and(norms.isfinite()).logical_not().flatten().nonzero(); bad.size(0) > 0) {
    throw data_error("{}: weights: the row of sample {} is zero or not finite and has no direction", objective, bad[0][0].item<int64_t>());
  }
  return wide / norms;
}

}  // namespace debias
