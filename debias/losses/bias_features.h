// Features of a frozen model that sees the bias, one row for each sample: they give samples' similarity in the bias without labels.
#pragma once

#include <ATen/core/Tensor.h>

#include "debias/losses/objective.h"

namespace debias {

// ObjectiveInput::weights [B, F] as double rows of norm 1 on the device of z, without gradient. Data errors that name `objective`: a dtype or
// shape that does not fit z, a row that is zero or not finite and so has no direction.
at::Tensor unit_bias_features(const ObjectiveInput& input, const char* objective);

}  // namespace debias
