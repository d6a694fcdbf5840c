// A fixed model for other programs' runtimes.
#pragma once

#include <string>

#include "debias/fix/fix.h"

namespace debias {

// An ONNX model (onnx.h) with input `features` [batch, D] and outputs `features_fixed` [batch, D] and `logits` [batch, C].
std::string onnx_model(const FixedModel& model);

}  // namespace debias
