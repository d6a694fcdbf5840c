#include "debias/evaluate/unit_rows.h"

#include <ATen/ATen.h>

#include "debias/core/error.h"

namespace debias {

at::Tensor unit_rows(const at::Tensor& rows, const std::string& who) {
  const at::Tensor norms = at::linalg_vector_norm(rows, 2, {1}, true);
  if (!at::isfinite(norms).all().item<bool>()) throw numeric_error("{}: a row is not finite; check the encoder's weights", who);
  return rows / at::clamp_min(norms, 1e-12);
}

at::Tensor unit_rows(const at::Tensor& rows, const std::vector<int64_t>& labels, const std::string& who) {
  if (rows.size(0) != static_cast<int64_t>(labels.size())) {
    throw data_error("{}: {} rows and {} labels; give one label per row", who, rows.size(0), labels.size());
  }
  return unit_rows(rows, who);
}

}  // namespace debias
