// All ranks' rows as one tensor that gradients flow back through.
#pragma once

#include <ATen/core/Tensor.h>

#include "debias/ranks/ranks.h"

namespace debias {

// own: [share_of(rows).size(), ...], this rank's rows. The result [rows, ...] is the same on every rank, and each computes the same loss of
// all of it: its gradient in the own rows is what this rank has to carry back, and no gradient crosses. Parameters must be before the
// gather, and their gradients are then summed over the ranks; of parameters behind it every rank has the whole gradient already.
at::Tensor gather_rows(const at::Tensor& own, int64_t rows, const Ranks& ranks);

}  // namespace debias
