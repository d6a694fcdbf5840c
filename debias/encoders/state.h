// Modules to and from safetensors.
#pragma once

#include <torch/nn/module.h>

#include <string>
#include <utility>
#include <vector>

#include "debias/core/safetensors.h"

namespace debias {

// Parameters and buffers of each module in registration order (that of Python's state_dict), names prefixed ("encoder." + "conv1.weight").
// The tensors are the module's own, not copies.
std::vector<std::pair<std::string, torch::Tensor>> named_state(const torch::nn::Module& module, const std::string& prefix = "");

DType dtype_of(const torch::Tensor& tensor);
// A view of a contiguous CPU tensor's bytes; the tensor must outlive it.
TensorBytes bytes_of(const std::string& name, const torch::Tensor& tensor);
torch::Tensor read_tensor(const SafetensorsFile& file, const TensorEntry& entry);

// Copies every tensor "prefix + name" of the file into the module, exactly: a missing key, an unexpected key under the prefix, another
// shape or dtype is a data error naming file and key, raised before anything was copied. Keys of the file outside the prefix are ignored.
void load_state(torch::nn::Module& module, const SafetensorsFile& file, const std::string& prefix);

// Loads an encoder from a checkpoint (keys under "encoder.", all others ignored) or from a file of torchvision's keys; `fc.*` is ignored.
void import_weights(torch::nn::Module& encoder, const std::string& path);

}  // namespace debias
