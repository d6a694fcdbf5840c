#include "debias/optim/optimizer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <typeinfo>

#include "debias/core/error.h"
#include "debias/optim/optimizer_entry.h"

namespace debias {
namespace {

// A rule has nothing but arithmetic on tensors, whose failures are c10::Error; torch reports a scalar that does not fit into a tensor's type,
// and that alone, as a plain std::runtime_error (c10/util/TypeCast.h).
bool is_overflow(const std::runtime_error& error) { return typeid(error) == typeid(std::runtime_error); }

// As torch.nn.utils.clip_grad_norm_, whose C++ version reads the norm out of a device.
at::Tensor factor(const at::Tensor& norms, double largest) { return (largest / (norms + 1e-6)).clamp_max(1); }

void clip(const std::vector<OptimizedParameter>& parameters, const Clipping& clipping) {
  if (!clipping.norm && !clipping.norm_per_tensor) return;
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> all;
  for (const auto& parameter : parameters) {
    if (parameter.tensor.grad().defined()) all.push_back(parameter.tensor.grad());
  }
  if (all.empty()) return;
  const auto norms = [&all] { return at::stack(at::_foreach_norm(all)); };
  if (clipping.norm_per_tensor) at::_foreach_mul_(all, factor(norms(), *clipping.norm_per_tensor).unbind());
  if (clipping.norm) at::_foreach_mul_(all, factor(norms().norm(), *clipping.norm));
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
          .add("no_decay", &Self::no_decay_, "parameters without weight decay: those of normalisation layers (norm), all biases (bias)")
          .add("clip_norm", &Self::clip_norm_, Range::above(0),
               "maximum L2 norm of all gradients together; larger gradients are scaled down")
          .add("clip_norm_per_tensor", &Self::clip_norm_per_tensor_, Range::above(0),
               "maximum L2 norm of each tensor's gradient, applied before clip_norm");
  return table;
}

Optimizer::Optimizer(std::unique_ptr<torch::optim::Optimizer> rule, std::vector<OptimizedParameter> parameters, Clipping clipping,
                     StateFormat format)
    : rule_(std::move(rule)), parameters_(std::move(parameters)), clipping_(clipping), format_(format) {
  std::map<const void*, double> rates;
  for (const auto& parameter : parameters_) rates[parameter.tensor.unsafeGetTensorImpl()] = parameter.rate;
  for (auto& group : rule_->param_groups()) {
    factors_.push_back(group.params().empty() ? 1 : rates.at(group.params().front().unsafeGetTensorImpl()));
    group.options().set_lr(group.options().get_lr() * factors_.back());
  }
}

void Optimizer::set_learning_rate(double learning_rate) {
  auto& groups = rule_->param_groups();
  for (size_t i = 0; i < groups.size(); ++i) groups[i].options().set_lr(learning_rate * factors_[i]);
}

void Optimizer::step() {
  clip(parameters_, clipping_);
  try {
    rule_->step();
  } catch (const std::runtime_error& error) {
    if (!is_overflow(error)) throw;
    throw numeric_error("the optimizer's step does not fit into a 32-bit number; lower the learning rate or the weight decay");
  }
}

ChosenOptimizer read_optimizer(const Config& section) { return named_or_first(optimizer_registry(), section, "optimizer").read(section); }

void set_learning_rate(Optimizer& optimizer, double learning_rate) { optimizer.set_learning_rate(learning_rate); }

}  // namespace debias
