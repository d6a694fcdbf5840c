#include "debias/runtime/unit_rows.h"

#include <ATen/ATen.h>

#include <limits>

#include "debias/core/error.h"

namespace debias {
namespace {

at::Tensor norms_of(const at::Tensor& rows) { return at::linalg_vector_norm(rows, 2, at::IntArrayRef{-1}, true); }

at::Tensor divided(const at::Tensor& rows, const at::Tensor& norms) {
  return rows / at::clamp_min(norms, std::numeric_limits<float>::min());
}

}  // namespace

at::Tensor unit_rows(const at::Tensor& rows) { return divided(rows, norms_of(rows)); }

at::Tensor unit_rows(const at::Tensor& rows, const std::string& who) {
  const at::Tensor norms = norms_of(rows);
  if (!at::isfinite(norms).all().item<bool>()) throw numeric_error("{}: a row is not finite; check the encoder's weights", who);
  return divided(rows, norms);
}

}  // namespace debias
