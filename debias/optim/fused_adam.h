// Adam in one pass over weights, gradients and moments, where torch::optim::Adam takes six of each tensor: for networks whose weights are
// many beside what they compute, such as agents'.
//
// Steps are torch::optim::Adam's but for the last digits, and so is what is remembered of a parameter, checkpoints included. It is no entry
// of the registry: a recipe's `adam` keeps its bytes.
#pragma once

#include <torch/optim/adam.h>

#include <memory>
#include <vector>

#include "debias/optim/optimizer.h"

namespace debias {

// Of parameters whose elements lie without gaps, all with the same options. `amsgrad` is not among what it does.
std::unique_ptr<Optimizer> make_fused_adam(std::vector<OptimizedParameter> parameters, const torch::optim::AdamOptions& options);

}  // namespace debias
