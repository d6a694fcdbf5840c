// Modules to and from safetensors.
#pragma once

#include <torch/nn/module.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/safetensors.h"

namespace debias {

class Encoder;

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

// Loads an encoder from a file of weights: one of its weight_layouts(), recognised by the keys, perhaps below "encoder." (a checkpoint) or
// "module.". Floating-point types are converted, and counters of batches that are not there are zero; for the rest as load_state, except
// for the keys that the layout ignores. Data errors, in one line with the path and with nothing loaded: no safetensors file (a pickle is
// never opened), keys of no layout, values that are not finite. A usage error where the layout needs an option that the encoder does not
// have.
void import_weights(Encoder& encoder, const std::string& path);

// The section of an encoder, without `weights`, whose weights the file holds; nothing where no registered encoder's keys are in it.
std::optional<Config> section_of_weights(const SafetensorsFile& file);

}  // namespace debias
