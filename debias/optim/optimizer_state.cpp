#include <ATen/ATen.h>
#include <fmt/ranges.h>
#include <torch/optim/sgd.h>

#include "debias/core/error.h"
#include "debias/optim/optimizer_entry.h"

namespace debias {
namespace {

using torch::optim::OptimizerParamState;
using torch::optim::SGDParamState;
using StateMap = std::map<std::string, torch::Tensor>;

bool any_under(const StateMap& state, const std::string& prefix) {
  const auto found = state.lower_bound(prefix);
  return found != state.end() && found->first.starts_with(prefix);
}

}  // namespace

torch::Tensor StateReader::take(const std::string& name, c10::ArrayRef<int64_t> shape, at::ScalarType type) {
  const auto found = state_.find(prefix_ + name);
  if (found == state_.end()) {
    throw data_error("optimizer state: tensor '{}{}' of parameter '{}' is missing; the checkpoint is of another optimizer", prefix_, name,
                     parameter_.name);
  }
  const torch::Tensor tensor = found->second;
  if (tensor.sizes() != shape || tensor.scalar_type() != type) {
    throw data_error(
        "optimizer state: tensor '{}{}' of parameter '{}': expected {} [{}], found {} [{}]; the checkpoint is of another model", prefix_,
        name, parameter_.name, c10::toString(type), fmt::join(shape.begin(), shape.end(), ", "), c10::toString(tensor.scalar_type()),
        fmt::join(tensor.sizes().begin(), tensor.sizes().end(), ", "));
  }
  state_.erase(found);
  return tensor;
}

torch::Tensor StateReader::take(const std::string& name) {
  const torch::Tensor& parameter = parameter_.tensor;
  const at::NoGradGuard no_grad;
  return at::empty_like(parameter).copy_(take(name, parameter.sizes(), parameter.scalar_type()));
}

int64_t StateReader::take_count(const std::string& name) {
  const auto count = take(name, {}, at::kLong).item<int64_t>();
  if (count < 1) throw data_error("optimizer state: tensor '{}{}': expected at least 1, found {}", prefix_, name, count);
  return count;
}

StateFormat momentum_format() {
  const auto write = [](const OptimizerParamState& state) -> NamedTensors {
    return {{"momentum_buffer", static_cast<const SGDParamState&>(state).momentum_buffer()}};
  };
  const auto read = [](StateReader& reader) -> std::unique_ptr<OptimizerParamState> {
    auto state = std::make_unique<SGDParamState>();
    state->momentum_buffer(reader.take("momentum_buffer"));
    return state;
  };
  return {write, read};
}

NamedTensors optimizer_state(const Optimizer& optimizer) {
  NamedTensors result;
  const auto& parameters = optimizer.parameters();
  const auto& states = optimizer.rule().state();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto found = states.find(parameters[i].tensor.unsafeGetTensorImpl());
    if (found == states.end()) continue;
    for (auto& [name, tensor] : optimizer.state_format().write(*found->second)) {
      result.emplace_back(fmt::format("{}.{}", i, name), std::move(tensor));
    }
  }
  return result;
}

void load_optimizer_state(Optimizer& optimizer, const NamedTensors& state) {
  StateMap remaining;
  for (const auto& [name, tensor] : state) {
    if (!remaining.emplace(name, tensor).second) throw data_error("optimizer state: tensor '{}' is given twice", name);
  }
  ska::flat_hash_map<void*, std::unique_ptr<OptimizerParamState>> loaded;
  const auto& parameters = optimizer.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const std::string prefix = fmt::format("{}.", i);
    if (!any_under(remaining, prefix)) continue;  // a parameter that never had a gradient
    StateReader reader(remaining, prefix, parameters[i]);
    loaded[parameters[i].tensor.unsafeGetTensorImpl()] = optimizer.state_format().read(reader);
  }
  if (!remaining.empty()) {
    throw data_error("optimizer state: tensor '{}' is unexpected; the checkpoint is of another optimizer or model",
                     remaining.begin()->first);
  }
  optimizer.rule().state() = std::move(loaded);
}

}  // namespace debias
