// Features of a frozen model that sees the bias, one row per sample. They measure how similar two samples are in the bias, without bias
// labels.
#pragma once

#include <ATen/core/Tensor.h>

#include "debias/losses/objective.h"

namespace debias {

// ObjectiveInput::weights [B, F] as double rows of norm 1 on the device of z, without gradient. Data error, naming `objective`: a dtype or
// shape that does not fit z, or a row without a direction, because it is zero or not finite.
at::Tensor unit_bias_features(const ObjectiveInput& input, const char* objective);

}  // namespace debias
