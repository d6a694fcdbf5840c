// Common parts of the optimizers' files: the options that all of them take, groups of parameters, and the formats of their states.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/registry.h"
#include "debias/optim/optimizer.h"

namespace debias {

OptimizerEntry adam_entry();
OptimizerEntry adamw_entry();
OptimizerEntry lars_entry();
OptimizerEntry sgd_entry();

// A set of parameters that an option exempts from something.
enum class ParameterSet { kNorm, kBias };
constexpr auto enum_words(ParameterSet) { return named("norm", "bias"); }
using ParameterSets = std::vector<ParameterSet>;
bool holds(const ParameterSets& sets, ParameterKind kind);

struct CommonOptimizerOptions {
  ParameterSets no_decay = {};
  std::optional<double> clip_norm = std::nullopt;
  std::optional<double> clip_norm_per_tensor = std::nullopt;
  void describe(OptionVisitor& o) {
    o("no_decay", no_decay, "parameters without weight decay: those of normalisation layers (norm), all biases (bias)");
    o("clip_norm", clip_norm, Range::above(0), "maximum L2 norm of all gradients together; larger gradients are scaled down");
    o("clip_norm_per_tensor", clip_norm_per_tensor, Range::above(0), "maximum L2 norm of each tensor's gradient, applied before clip_norm");
  }

  Clipping clipping() const { return {clip_norm, clip_norm_per_tensor}; }
};

// One group for each kind of parameter and factor of the learning rate that there is, with the options that `options_of` gives the kind.
template <class OptionsOf>
std::vector<torch::optim::OptimizerParamGroup> groups_by_kind(const std::vector<OptimizedParameter>& parameters, OptionsOf options_of) {
  std::map<std::pair<ParameterKind, double>, std::vector<torch::Tensor>> members;
  for (const auto& parameter : parameters) members[{parameter.kind, parameter.rate}].push_back(parameter.tensor);
  std::vector<torch::optim::OptimizerParamGroup> groups;
  for (auto& [kind_and_rate, tensors] : members) {
    const ParameterKind kind = kind_and_rate.first;
    groups.emplace_back(std::move(tensors), std::make_unique<decltype(options_of(kind))>(options_of(kind)));
  }
  return groups;
}

// A rule whose groups have the options that they are given: torch 2.15 puts the defaults in the place of those that
// equal what a constructor sets, and of all options of a class that is not its own.
template <class Rule, class Options>
std::unique_ptr<torch::optim::Optimizer> make_rule(const std::vector<torch::optim::OptimizerParamGroup>& groups, const Options& defaults) {
  auto rule = std::make_unique<Rule>(groups, defaults);
  for (size_t i = 0; i < groups.size(); ++i) rule->param_groups()[i].set_options(groups[i].options().clone());
  return rule;
}

// One parameter's tensors of a checkpoint; each is checked against the parameter and taken. Data errors.
class StateReader {
 public:
  StateReader(std::map<std::string, torch::Tensor>& state, std::string prefix, const OptimizedParameter& parameter)
      : state_(state), prefix_(std::move(prefix)), parameter_(parameter) {}

  torch::Tensor take(const std::string& name);  // a copy of the parameter's shape, type, layout and device
  int64_t take_count(const std::string& name);  // a 0-d int64 of at least 1

 private:
  torch::Tensor take(const std::string& name, c10::ArrayRef<int64_t> shape, at::ScalarType type);

  std::map<std::string, torch::Tensor>& state_;
  std::string prefix_;
  const OptimizedParameter& parameter_;
};

StateFormat momentum_format();  // of torch::optim::SGDParamState

using StatesOfParameters = ska::flat_hash_map<void*, std::unique_ptr<torch::optim::OptimizerParamState>>;

// State of SGDParamState for these weights: zeros at first.
at::Tensor& momentum_buffer(StatesOfParameters& states, const at::Tensor& weights);

// Format of torch::optim::AdamParamState and AdamWParamState.
template <class State>
StateFormat moments_format() {
  const auto write = [](const torch::optim::OptimizerParamState& any) -> NamedTensors {
    const auto& state = static_cast<const State&>(any);
    return {{"exp_avg", state.exp_avg()}, {"exp_avg_sq", state.exp_avg_sq()}, {"step", at::scalar_tensor(state.step(), at::kLong)}};
  };
  const auto read = [](StateReader& reader) -> std::unique_ptr<torch::optim::OptimizerParamState> {
    auto state = std::make_unique<State>();
    state->exp_avg(reader.take("exp_avg"));
    state->exp_avg_sq(reader.take("exp_avg_sq"));
    state->step(reader.take_count("step"));
    return state;
  };
  return {write, read};
}

// Options: described options, the common ones among them, and rule(parameters), torch's optimizer or one's own over groups_by_kind.
template <class Options>
ChosenOptimizer chosen_optimizer(const std::string& name, const Options& options, const StateFormat& format) {
  check_options(options, "optimizer '" + name + "'");
  ChosenOptimizer chosen{Config::map({{"name", Config::string(name)}}), options.learning_rate, nullptr};
  chosen.section.overlay(config_of(options));
  chosen.make = [options, format](std::vector<OptimizedParameter> parameters) {
    auto rule = options.rule(parameters);
    return std::make_unique<Optimizer>(std::move(rule), std::move(parameters), options.clipping(), format);
  };
  return chosen;
}

template <class Options>
OptimizerEntry optimizer_entry(const std::string& name, const std::string& summary, const StateFormat& format) {
  const auto read = [name, format](const Config& section) {
    return chosen_optimizer(name, options_from<Options>(section_map(section), "optimizer '" + name + "'", {"name"}), format);
  };
  return {name, {}, summary, option_specs<Options>(), read};
}

}  // namespace debias
