// One tensor of a checkpoint, by name.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "debias/core/safetensors.h"

namespace debias {

// Of the shape, dtype and device of `like`; data error naming file and tensor where it is missing or another.
at::Tensor named_tensor(const SafetensorsFile& file, const std::string& name, const at::Tensor& like);

}  // namespace debias
