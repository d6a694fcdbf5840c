#include "debias/optim/sgd.h"

#include <ATen/ATen.h>
#include <torch/optim/sgd.h>

#include "debias/optim/fused_rules.h"
#include "debias/optim/optimizer_entry.h"

namespace debias {
namespace {

struct SgdOptions : MomentumOptions, CommonOptimizerOptions {
  void describe(OptionVisitor& o) {
    MomentumOptions::describe(o);
    CommonOptimizerOptions::describe(o);
  }

  std::unique_ptr<torch::optim::Optimizer> rule(const std::vector<OptimizedParameter>& parameters) const {
    const auto options_of = [this](ParameterKind kind) {
      return torch::optim::SGDOptions(learning_rate)
          .momentum(momentum)
          .nesterov(nesterov)
          .weight_decay(holds(no_decay, kind) ? 0 : weight_decay);
    };
    return fused_sgd(groups_by_kind(parameters, options_of), options_of(ParameterKind::kWeight));
  }
};

}  // namespace

ChosenOptimizer sgd_optimizer(const MomentumOptions& given) {
  SgdOptions options;
  static_cast<MomentumOptions&>(options) = given;
  return chosen_optimizer("sgd", options, momentum_format());
}

OptimizerEntry sgd_entry() { return optimizer_entry<SgdOptions>("sgd", "stochastic gradient descent with momentum", momentum_format()); }

namespace {

// Layer-wise adaptive rate scaling (You, Gitman and Ginsburg 2017, algorithm 1): each tensor's step is a given share of its own size.
//
//   r = trust |w| / (|g| + decay |w| + eps),  1 where |w| or |g| is 0
//   v <- momentum v + rate r (g + decay w)
//   w <- w - v                                   with nesterov: w - (momentum v + rate r (g + decay w))
//
// w a tensor of weights, g its gradient, v its buffer, |.| Euclidean norms. The learning rate is inside the buffer, as published and in
// SimCLR's code; torch's SGD has it outside, which differs once a schedule changes it. Parameters in `no_adaptation` have r = 1.

using Tensors = std::vector<at::Tensor>;

struct LarsRuleOptions : public torch::optim::OptimizerCloneableOptions<LarsRuleOptions> {
  double learning_rate = 0, momentum = 0, weight_decay = 0, trust = 0, eps = 0;
  bool nesterov = false, adapts = true;

  double get_lr() const override { return learning_rate; }
  void set_lr(double value) override { learning_rate = value; }
};

// A 0-d tensor for each: nothing waits for a device.
Tensors trust_ratios(const Tensors& weights, const Tensors& gradients, const LarsRuleOptions& options) {
  const at::Tensor size = at::stack(at::_foreach_norm(weights)), slope = at::stack(at::_foreach_norm(gradients));
  const at::Tensor ratio = size * options.trust / (slope + size * options.weight_decay + options.eps);
  return at::where(at::logical_and(size > 0, slope > 0), ratio, at::ones_like(ratio)).unbind();
}

class LarsRule final : public torch::optim::Optimizer {
 public:
  LarsRule(const std::vector<torch::optim::OptimizerParamGroup>& groups, const LarsRuleOptions& defaults)
      : Optimizer(groups, std::make_unique<LarsRuleOptions>(defaults)) {}

  torch::Tensor step(LossClosure closure = nullptr) override {
    torch::Tensor loss;
    if (closure) loss = closure();
    const at::NoGradGuard no_grad;
    for (auto& group : param_groups_) update(group.params(), static_cast<const LarsRuleOptions&>(group.options()));
    return loss;
  }

 private:
  // Lists of tensors: a device takes each line in launches that do not grow with the parameters, but for the product with the ratios.
  void update(const Tensors& all, const LarsRuleOptions& options) {
    Tensors weights, gradients, buffers;
    for (const auto& tensor : all) {
      if (!tensor.grad().defined()) continue;
      weights.push_back(tensor);
      gradients.push_back(tensor.grad());
      if (options.momentum != 0) buffers.push_back(momentum_buffer(state_, tensor));
    }
    if (weights.empty()) return;
    const Tensors added = at::_foreach_add(gradients, weights, options.weight_decay);
    at::_foreach_mul_(added, options.learning_rate);
    if (options.adapts) at::_foreach_mul_(added, trust_ratios(weights, gradients, options));
    if (options.momentum == 0) {
      at::_foreach_sub_(weights, added);
      return;
    }
    at::_foreach_mul_(buffers, options.momentum);
    at::_foreach_add_(buffers, added);
    if (options.nesterov) at::_foreach_add_(added, buffers, options.momentum);
    at::_foreach_sub_(weights, options.nesterov ? added : buffers);
  }
};

struct LarsOptions : MomentumOptions, CommonOptimizerOptions {
  LarsOptions() {
    learning_rate = 0.3;
    no_decay = {ParameterSet::kNorm, ParameterSet::kBias};
  }
  double trust_coefficient = 1e-3;
  double eps = 1e-8;
  ParameterSets no_adaptation = {ParameterSet::kNorm, ParameterSet::kBias};

  void describe(OptionVisitor& o) {
    MomentumOptions::describe(o);
    o("trust_coefficient", trust_coefficient, Range::above(0), "a tensor's step as a share of its norm, at learning rate 1");
    o("eps", eps, Range::at_least(0), "added to the norms that the trust ratio is divided by");
    o("no_adaptation", no_adaptation, "parameters with a trust ratio of 1: those of normalisation layers (norm), all biases (bias)");
    CommonOptimizerOptions::describe(o);
  }

  std::unique_ptr<torch::optim::Optimizer> rule(const std::vector<OptimizedParameter>& parameters) const {
    const auto options_of = [this](ParameterKind kind) {
      LarsRuleOptions options;
      options.learning_rate = learning_rate;
      options.momentum = momentum;
      options.nesterov = nesterov;
      options.weight_decay = holds(no_decay, kind) ? 0 : weight_decay;
      options.trust = trust_coefficient;
      options.eps = eps;
      options.adapts = !holds(no_adaptation, kind);
      return options;
    };
    return make_rule<LarsRule>(groups_by_kind(parameters, options_of), options_of(ParameterKind::kWeight));
  }
};

}  // namespace

OptimizerEntry lars_entry() {
  return optimizer_entry<LarsOptions>("lars", "SGD with layer-wise adaptive learning rates (You et al. 2017), for batches of thousands",
                                      momentum_format());
}

}  // namespace debias
