// Optimizers over torch's, by name: `optimizer: {name: adam, learning_rate: 1e-3, weight_decay: 1e-6}`.
#pragma once

#include <torch/optim/optimizer.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/options.h"

namespace debias {

struct OptimizerEntry {
  std::string name;  // adam (weight decay as L2 added to the gradient, not decoupled), sgd (momentum, no Nesterov, L2)
  std::vector<std::string> aliases;
  std::string summary;
  std::vector<OptionSpec> options;
  std::function<std::unique_ptr<torch::optim::Optimizer>(const Config& section, std::vector<torch::Tensor> parameters)> make;
};
const std::vector<OptimizerEntry>& optimizer_registry();
std::unique_ptr<torch::optim::Optimizer> make_optimizer(const Config& section, std::vector<torch::Tensor> parameters);
Config resolved_optimizer(const Config& section);  // all options, with `name`
double base_learning_rate(const Config& section);
void set_learning_rate(torch::optim::Optimizer& optimizer, double learning_rate);

// The optimizer's state as named tensors ("0.exp_avg", "0.exp_avg_sq", "0.step" as 0-d int64, "0.momentum_buffer"), in parameter order, and
// back. A state that was never stepped has no tensors. load throws a data error on a missing or misshapen tensor.
std::vector<std::pair<std::string, torch::Tensor>> optimizer_state(const torch::optim::Optimizer& optimizer);
void load_optimizer_state(torch::optim::Optimizer& optimizer, const std::vector<std::pair<std::string, torch::Tensor>>& state);

}  // namespace debias
