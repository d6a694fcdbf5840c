// Adam, AdamW and SGD with one call of torch per step and parameter group (at::_fused_adam_ and similar): one pass over the
// tensors on the CPU, and a number of launches that does not grow with the parameters on a device.
//
// Options, groups and parameter states are those of torch::optim; weights differ from its own in the last digits.
#pragma once

#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <memory>
#include <vector>

#include "debias/optim/optimizer.h"

namespace debias {

using ParameterGroups = std::vector<torch::optim::OptimizerParamGroup>;

// Parameters without gaps between their elements, on one device and of one type a group. `amsgrad`, `dampening` and `maximize` are not
// read.
std::unique_ptr<torch::optim::Optimizer> fused_adam(const ParameterGroups& groups, const torch::optim::AdamOptions& defaults);
std::unique_ptr<torch::optim::Optimizer> fused_adamw(const ParameterGroups& groups, const torch::optim::AdamWOptions& defaults);
std::unique_ptr<torch::optim::Optimizer> fused_sgd(const ParameterGroups& groups, const torch::optim::SGDOptions& defaults);

// The registry's `adam` for typed options: the same for all parameters, without clipping.
std::unique_ptr<Optimizer> make_adam(std::vector<OptimizedParameter> parameters, const torch::optim::AdamOptions& options);

}  // namespace debias
