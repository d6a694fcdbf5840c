// Modules to and from safetensors.
#pragma once

#include <torch/nn/module.h>

#include <string>
#include <utility>
#include <vector>

#include "debias/core/safetensors.h"

namespace debias {

// Parameters and buffers in registration order, names prefixed ("encoder." + "conv1.weight").
std::vector<std::pair<std::string, torch::Tensor>> named_state(const torch::nn::Module& module, const std::string& prefix = "");

DType dtype_of(const torch::Tensor& tensor);
// A view of a contiguous CPU tensor's bytes; the tensor must outlive it.
TensorBytes bytes_of(const std::string& name, const torch::Tensor& tensor);
torch::Tensor read_tensor(const SafetensorsFile& file, const TensorEntry& entry);

// Copies every tensor "prefix + name" of the file into the module, exactly: a missing key, another shape or dtype is a data error naming
// file and key, raised before anything was copied. Keys of the file outside the prefix are ignored.
void load_state(torch::nn::Module& module, const SafetensorsFile& file, const std::string& prefix);

}  // namespace debias
