#include <ATen/ATen.h>
#include <fmt/ranges.h>
#include <torch/optim/adam.h>
#include <torch/optim/sgd.h>

#include <map>

#include "debias/core/error.h"
#include "debias/optim/optimizer.h"

namespace debias {
namespace {

using torch::optim::AdamParamState;
using torch::optim::SGDParamState;
using StateMap = std::map<std::string, torch::Tensor>;

bool is_adam(const torch::optim::Optimizer& optimizer) { return dynamic_cast<const torch::optim::Adam*>(&optimizer) != nullptr; }

std::vector<torch::Tensor> all_parameters(const torch::optim::Optimizer& optimizer) {
  std::vector<torch::Tensor> parameters;
  for (const auto& group : optimizer.param_groups()) {
    parameters.insert(parameters.end(), group.params().begin(), group.params().end());
  }
  return parameters;
}

// Takes "name" out of the map, checked against what the optimizer holds for it.
torch::Tensor take(StateMap& state, const std::string& name, c10::ArrayRef<int64_t> shape, at::ScalarType type) {
  const auto found = state.find(name);
  if (found == state.end()) throw data_error("optimizer state: tensor '{}' is missing; the checkpoint is of another optimizer", name);
  const torch::Tensor tensor = found->second;
  if (tensor.sizes() != shape || tensor.scalar_type() != type) {
    throw data_error("optimizer state: tensor '{}': expected {} [{}], found {} [{}]; the checkpoint is of another model", name,
                     c10::toString(type), fmt::join(shape.begin(), shape.end(), ", "), c10::toString(tensor.scalar_type()),
                     fmt::join(tensor.sizes().begin(), tensor.sizes().end(), ", "));
  }
  state.erase(found);
  return tensor;
}

// A copy in the parameter's layout and on its device.
torch::Tensor like(const torch::Tensor& parameter, const torch::Tensor& value) {
  at::NoGradGuard no_grad;
  return at::empty_like(parameter).copy_(value);
}

std::unique_ptr<AdamParamState> take_adam(StateMap& state, const std::string& prefix, const torch::Tensor& parameter) {
  auto result = std::make_unique<AdamParamState>();
  result->exp_avg(like(parameter, take(state, prefix + "exp_avg", parameter.sizes(), parameter.scalar_type())));
  result->exp_avg_sq(like(parameter, take(state, prefix + "exp_avg_sq", parameter.sizes(), parameter.scalar_type())));
  result->step(take(state, prefix + "step", {}, at::kLong).item<int64_t>());
  if (result->step() < 1) throw data_error("optimizer state: tensor '{}step': expected at least 1, found {}", prefix, result->step());
  return result;
}

std::unique_ptr<SGDParamState> take_sgd(StateMap& state, const std::string& prefix, const torch::Tensor& parameter) {
  auto result = std::make_unique<SGDParamState>();
  result->momentum_buffer(like(parameter, take(state, prefix + "momentum_buffer", parameter.sizes(), parameter.scalar_type())));
  return result;
}

bool any_under(const StateMap& state, const std::string& prefix) {
  const auto found = state.lower_bound(prefix);
  return found != state.end() && found->first.starts_with(prefix);
}

}  // namespace

std::vector<std::pair<std::string, torch::Tensor>> optimizer_state(const torch::optim::Optimizer& optimizer) {
  std::vector<std::pair<std::string, torch::Tensor>> result;
  const auto parameters = all_parameters(optimizer);
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto found = optimizer.state().find(parameters[i].unsafeGetTensorImpl());
    if (found == optimizer.state().end()) continue;
    const std::string prefix = fmt::format("{}.", i);
    if (is_adam(optimizer)) {
      const auto& state = static_cast<const AdamParamState&>(*found->second);
      result.emplace_back(prefix + "exp_avg", state.exp_avg());
      result.emplace_back(prefix + "exp_avg_sq", state.exp_avg_sq());
      result.emplace_back(prefix + "step", at::scalar_tensor(state.step(), at::kLong));
    } else {
      result.emplace_back(prefix + "momentum_buffer", static_cast<const SGDParamState&>(*found->second).momentum_buffer());
    }
  }
  return result;
}

void load_optimizer_state(torch::optim::Optimizer& optimizer, const std::vector<std::pair<std::string, torch::Tensor>>& state) {
  StateMap remaining;
  for (const auto& [name, tensor] : state) {
    if (!remaining.emplace(name, tensor).second) throw data_error("optimizer state: tensor '{}' is given twice", name);
  }
  ska::flat_hash_map<void*, std::unique_ptr<torch::optim::OptimizerParamState>> loaded;
  const auto parameters = all_parameters(optimizer);
  for (size_t i = 0; i < parameters.size(); ++i) {
    const std::string prefix = fmt::format("{}.", i);
    if (!any_under(remaining, prefix)) continue;  // a parameter that never had a gradient
    auto& slot = loaded[parameters[i].unsafeGetTensorImpl()];
    if (is_adam(optimizer)) {
      slot = take_adam(remaining, prefix, parameters[i]);
    } else {
      slot = take_sgd(remaining, prefix, parameters[i]);
    }
  }
  if (!remaining.empty()) {
    throw data_error("optimizer state: tensor '{}' is unexpected; the checkpoint is of another optimizer or model",
                     remaining.begin()->first);
  }
  optimizer.state() = std::move(loaded);
}

}  // namespace debias
