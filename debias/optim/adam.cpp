#include <string>
#include <type_traits>
#include <vector>

#include "debias/core/options.h"
#include "debias/optim/fused_rules.h"
#include "debias/optim/optimizer_entry.h"

namespace debias {
namespace {

// Common options of Adam and AdamW.
struct AdamMomentOptions {
  double learning_rate = 1e-3;
  std::vector<double> betas = {0.9, 0.999};
  double eps = 1e-8;
  void describe(OptionVisitor& o) {
    o("learning_rate", learning_rate, Range::at_least(0), "learning rate before the schedule is applied");
    o("betas", betas, Range::half_open(0, 1), "decay of the running means of the gradient and of its square");
    o("eps", eps, Range::above(0), "added to the root of the mean square");
    o.check([this](const std::string& what) {
      if (betas.size() != 2) throw usage_error("{}: betas: expected two numbers, found {}", what, betas.size());
    });
  }

  template <class TorchOptions>
  TorchOptions torch_options() const {
    return TorchOptions(learning_rate).betas({betas[0], betas[1]}).eps(eps);
  }
};

// Of AdamW where the weight decay is decoupled, else of Adam.
template <bool kDecoupled>
struct AdamOptions : AdamMomentOptions, CommonOptimizerOptions {
  double weight_decay = kDecoupled ? 0.01 : 0;

  void describe(OptionVisitor& o) {
    AdamMomentOptions::describe(o);
    o("weight_decay", weight_decay, Range::at_least(0),
      kDecoupled ? "decoupled weight decay: multiplies weights and learning rate, and is subtracted from the weights"
                 : "L2 penalty: multiplies the weights and is added to the gradient");
    CommonOptimizerOptions::describe(o);
  }

  std::unique_ptr<torch::optim::Optimizer> rule(const std::vector<OptimizedParameter>& parameters) const {
    using Torch = std::conditional_t<kDecoupled, torch::optim::AdamWOptions, torch::optim::AdamOptions>;
    const auto options_of = [this](ParameterKind kind) {
      return torch_options<Torch>().weight_decay(holds(no_decay, kind) ? 0 : weight_decay);
    };
    const auto groups = groups_by_kind(parameters, options_of);
    if constexpr (kDecoupled) {
      return fused_adamw(groups, options_of(ParameterKind::kWeight));
    } else {
      return fused_adam(groups, options_of(ParameterKind::kWeight));
    }
  }
};

}  // namespace

ChosenOptimizer adam_optimizer(double learning_rate, double weight_decay) {
  AdamOptions<false> options;
  options.weight_decay = weight_decay;
  options.learning_rate = learning_rate;
  return chosen_optimizer("adam", options, moments_format<torch::optim::AdamParamState>());
}

OptimizerEntry adam_entry() {
  return optimizer_entry<AdamOptions<false>>("adam", "Adam (Kingma and Ba 2015); weight decay is L2, not decoupled",
                                             moments_format<torch::optim::AdamParamState>());
}

OptimizerEntry adamw_entry() {
  return optimizer_entry<AdamOptions<true>>("adamw", "Adam with decoupled weight decay (Loshchilov and Hutter 2019)",
                                            moments_format<torch::optim::AdamWParamState>());
}

}  // namespace debias
