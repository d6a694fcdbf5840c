// Layer-wise adaptive rate scaling (You, Gitman and Ginsburg 2017, algorithm 1): each tensor's step is a given share of its own size.
//
//   r = trust |w| / (|g| + decay |w| + eps),  1 where |w| or |g| is 0
//   v <- momentum v + rate r (g + decay w)
//   w <- w - v                                   with nesterov: w - (momentum v + rate r (g + decay w))
//
// w a tensor of weights, g its gradient, v its buffer, |.| Euclidean norms. The learning rate is inside the buffer, as published and in
// SimCLR's code; torch's SGD has it outside, which differs once a schedule changes it. Parameters in `no_adaptation` have r = 1.
#include <ATen/ATen.h>
#include <torch/optim/sgd.h>

#include "debias/optim/momentum_options.h"
#include "debias/optim/optimizer_entry.h"

namespace debias {
namespace {

struct LarsRuleOptions : public torch::optim::OptimizerCloneableOptions<LarsRuleOptions> {
  double learning_rate = 0, momentum = 0, weight_decay = 0, trust = 0, eps = 0;
  bool nesterov = false, adapts = true;

  double get_lr() const override { return learning_rate; }
  void set_lr(double value) override { learning_rate = value; }
};

// A 0-d tensor: nothing waits for a device.
at::Tensor trust_ratio(const at::Tensor& weights, const at::Tensor& gradient, const LarsRuleOptions& options) {
  const at::Tensor size = at::linalg_vector_norm(weights), slope = at::linalg_vector_norm(gradient);
  const at::Tensor ratio = size * options.trust / (slope + size * options.weight_decay + options.eps);
  return at::where(at::logical_and(size > 0, slope > 0), ratio, at::ones_like(ratio));
}

class LarsRule final : public torch::optim::Optimizer {
 public:
  using Optimizer::Optimizer;

  torch::Tensor step(LossClosure closure = nullptr) override {
    torch::Tensor loss;
    if (closure) loss = closure();
    const at::NoGradGuard no_grad;
    for (auto& group : param_groups_) {
      for (auto& weights : group.params()) {
        if (weights.grad().defined()) update(weights, static_cast<const LarsRuleOptions&>(group.options()));
      }
    }
    return loss;
  }

 private:
  void update(at::Tensor& weights, const LarsRuleOptions& options) {
    const at::Tensor& gradient = weights.grad();
    at::Tensor added = gradient.add(weights, options.weight_decay).mul_(options.learning_rate);
    if (options.adapts) added.mul_(trust_ratio(weights, gradient, options));
    if (options.momentum == 0) {
      weights.sub_(added);
      return;
    }
    auto& slot = state_[weights.unsafeGetTensorImpl()];
    if (slot == nullptr) {
      slot = std::make_unique<torch::optim::SGDParamState>();
      static_cast<torch::optim::SGDParamState&>(*slot).momentum_buffer(at::zeros_like(weights));
    }
    at::Tensor& buffer = static_cast<torch::optim::SGDParamState&>(*slot).momentum_buffer();
    buffer.mul_(options.momentum).add_(added);
    weights.sub_(options.nesterov ? added.add_(buffer, options.momentum) : buffer);
  }
};

class LarsOptions : public MomentumOptions, public CommonOptimizerOptions {
 public:
  LarsOptions() {
    learning_rate(0.3);
    no_decay({ParameterSet::kNorm, ParameterSet::kBias});
  }
  DEBIAS_OPTION(LarsOptions, double, trust_coefficient, 1e-3)
  DEBIAS_OPTION(LarsOptions, double, eps, 1e-8)
  DEBIAS_OPTION(LarsOptions, ParameterSets, no_adaptation, {ParameterSet::kNorm, ParameterSet::kBias})

  static const OptionTable<LarsOptions>& table() {
    using Self = LarsOptions;
    static const auto table =
        OptionTable<Self>()
            .include(MomentumOptions::table())
            .add("trust_coefficient", &Self::trust_coefficient_, Range::above(0),
                 "a tensor's step as a share of its norm, at learning rate 1")
            .add("eps", &Self::eps_, Range::at_least(0), "added to the norms that the trust ratio is divided by")
            .add("no_adaptation", &Self::no_adaptation_, "parameters with a trust ratio of 1: both of normalisation layers, all biases")
            .include(CommonOptimizerOptions::table())
            .check(require_momentum_for_nesterov);
    return table;
  }

  std::unique_ptr<torch::optim::Optimizer> rule(const std::vector<OptimizedParameter>& parameters) const {
    const auto options_of = [this](ParameterKind kind) {
      LarsRuleOptions options;
      options.learning_rate = learning_rate();
      options.momentum = momentum();
      options.nesterov = nesterov();
      options.weight_decay = holds(no_decay(), kind) ? 0 : weight_decay();
      options.trust = trust_coefficient();
      options.eps = eps();
      options.adapts = !holds(no_adaptation(), kind);
      return options;
    };
    return std::make_unique<LarsRule>(groups_by_kind(parameters, options_of),
                                      std::make_unique<LarsRuleOptions>(options_of(ParameterKind::kWeight)));
  }
};

}  // namespace

OptimizerEntry lars_entry() {
  return optimizer_entry<LarsOptions>("lars", "SGD whose rate follows each tensor's norm (You et al. 2017); for batches of thousands",
                                      momentum_format());
}

}  // namespace debias
