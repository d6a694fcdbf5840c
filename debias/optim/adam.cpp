#include <string>
#include <type_traits>
#include <vector>

#include "debias/core/options.h"
#include "debias/optim/fused_rules.h"
#include "debias/optim/optimizer_entry.h"

namespace debias {
namespace {

// Common options of Adam and AdamW.
class AdamMomentOptions {
 public:
  DEBIAS_OPTION(AdamMomentOptions, double, learning_rate, 1e-3)
  DEBIAS_OPTION(AdamMomentOptions, std::vector<double>, betas, {0.9, 0.999})
  DEBIAS_OPTION(AdamMomentOptions, double, eps, 1e-8)
  static const OptionTable<AdamMomentOptions>& table();

  static void require_two_betas(const AdamMomentOptions& options, const std::string& what);

  template <class TorchOptions>
  TorchOptions torch_options() const {
    return TorchOptions(learning_rate()).betas({betas()[0], betas()[1]}).eps(eps());
  }
};

// Of AdamW where the weight decay is decoupled, else of Adam.
template <bool kDecoupled>
class AdamOptions : public AdamMomentOptions, public CommonOptimizerOptions {
 public:
  DEBIAS_OPTION(AdamOptions, double, weight_decay, kDecoupled ? 0.01 : 0)

  static const OptionTable<AdamOptions>& table() {
    static const auto table =
        OptionTable<AdamOptions>()
            .include(AdamMomentOptions::table())
            .add("weight_decay", &AdamOptions::weight_decay_, Range::at_least(0),
                 kDecoupled ? "decoupled weight decay: multiplies weights and learning rate, and is subtracted from the weights"
                            : "L2 penalty: multiplies the weights and is added to the gradient")
            .include(CommonOptimizerOptions::table())
            .check(require_two_betas);
    return table;
  }

  std::unique_ptr<torch::optim::Optimizer> rule(const std::vector<OptimizedParameter>& parameters) const {
    using Torch = std::conditional_t<kDecoupled, torch::optim::AdamWOptions, torch::optim::AdamOptions>;
    const auto options_of = [this](ParameterKind kind) {
      return torch_options<Torch>().weight_decay(holds(no_decay(), kind) ? 0 : weight_decay());
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

const OptionTable<AdamMomentOptions>& AdamMomentOptions::table() {
  using Self = AdamMomentOptions;
  static const auto table =
      OptionTable<Self>()
          .add("learning_rate", &Self::learning_rate_, Range::at_least(0), "learning rate before the schedule is applied")
          .add("betas", &Self::betas_, Range::half_open(0, 1), "decay of the running means of the gradient and of its square")
          .add("eps", &Self::eps_, Range::above(0), "added to the root of the mean square");
  return table;
}

void AdamMomentOptions::require_two_betas(const AdamMomentOptions& options, const std::string& what) {
  if (options.betas().size() != 2) throw usage_error("{}: betas: expected two numbers, found {}", what, options.betas().size());
}

ChosenOptimizer adam_optimizer(double learning_rate, double weight_decay) {
  AdamOptions<false> options;
  options.weight_decay(weight_decay).learning_rate(learning_rate);
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
