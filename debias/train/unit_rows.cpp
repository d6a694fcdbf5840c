#include "debias/train/unit_rows.h"

#include <ATen/ATen.h>

namespace debias {

at::Tensor unit_rows(const at::Tensor& rows) { return rows / at::clamp_min(at::linalg_vector_norm(rows, 2, {-1}, true), 1e-12); }

}  // namespace debias
