#include "debias/optim/optimizer.h"

#include <torch/nn/utils/clip_grad.h>

#include <algorithm>

#include "debias/optim/optimizer_entry.h"

namespace debias {
namespace {

const OptimizerEntry& find(const Config& section) {
  return find_entry(optimizer_registry(), section_name(section, "optimizer"), "optimizer", section.prefix());
}

void clip(const std::vector<OptimizedParameter>& parameters, const Clipping& clipping) {
  std::vector<torch::Tensor> all;
  for (const auto& parameter : parameters) {
    if (clipping.norm_per_tensor) torch::nn::utils::clip_grad_norm_(parameter.tensor, *clipping.norm_per_tensor);
    all.push_back(parameter.tensor);
  }
  if (clipping.norm) torch::nn::utils::clip_grad_norm_(all, *clipping.norm);
}

}  // namespace

const std::vector<OptimizerEntry>& optimizer_registry() {
  static const std::vector<OptimizerEntry> registry = {adam_entry(), adamw_entry(), lars_entry(), sgd_entry()};
  return registry;
}

bool holds(const ParameterSets& sets, ParameterKind kind) {
  return std::any_of(sets.begin(), sets.end(), [kind](ParameterSet set) {
    if (kind == ParameterKind::kNormBias) return true;
    return kind == (set == ParameterSet::kNorm ? ParameterKind::kNormWeight : ParameterKind::kBias);
  });
}

const OptionTable<CommonOptimizerOptions>& CommonOptimizerOptions::table() {
  using Self = CommonOptimizerOptions;
  static const auto table =
      OptionTable<Self>()
          .add("no_decay", &Self::no_decay_, "without weight decay: both parameters of normalisation layers, all biases")
          .add("clip_norm", &Self::clip_norm_, Range::above(0), "scales all gradients down together to this Euclidean norm")
          .add("clip_norm_per_tensor", &Self::clip_norm_per_tensor_, Range::above(0),
               "scales each tensor's gradient down to this norm, before that");
  return table;
}

Optimizer::Optimizer(std::unique_ptr<torch::optim::Optimizer> rule, std::vector<OptimizedParameter> parameters, Clipping clipping,
                     StateFormat format)
    : rule_(std::move(rule)), parameters_(std::move(parameters)), clipping_(clipping), format_(format) {}

void Optimizer::step() {
  clip(parameters_, clipping_);
  rule_->step();
}

std::unique_ptr<Optimizer> make_optimizer(const Config& section, std::vector<OptimizedParameter> parameters) {
  return find(section).make(section, std::move(parameters));
}

Config resolved_optimizer(const Config& section) { return find(section).resolve(section); }

double base_learning_rate(const Config& section) {
  double value = 0;
  parse_number(resolved_optimizer(section).find("learning_rate")->text(), &value);
  return value;
}

void set_learning_rate(Optimizer& optimizer, double learning_rate) {
  for (auto& group : optimizer.rule().param_groups()) group.options().set_lr(learning_rate);
}

}  // namespace debias
