// One tensor of a checkpoint, by name.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "debias/core/safetensors.h"

namespace debias {

// Has the shape, dtype and device of `like`; data error naming file and tensor if it is missing or different.
at::Tensor named_tensor(const SafetensorsFile& file, const std::string& name, const at::Tensor& like);

}  // namespace debias
