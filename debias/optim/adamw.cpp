#include "debias/optim/adam_options.h"
#include "debias/optim/fused_rules.h"
#include "debias/optim/optimizer_entry.h"

namespace debias {
namespace {

class AdamwOptions : public AdamMomentOptions, public CommonOptimizerOptions {
 public:
  DEBIAS_OPTION(AdamwOptions, double, weight_decay, 0.01)

  static const OptionTable<AdamwOptions>& table() {
    static const auto table = OptionTable<AdamwOptions>()
                                  .include(AdamMomentOptions::table())
                                  .add("weight_decay", &AdamwOptions::weight_decay_, Range::at_least(0),
                                       "decoupled weight decay: multiplies weights and learning rate, and is subtracted from the weights")
                                  .include(CommonOptimizerOptions::table())
                                  .check(require_two_betas);
    return table;
  }

  std::unique_ptr<torch::optim::Optimizer> rule(const std::vector<OptimizedParameter>& parameters) const {
    const auto options_of = [this](ParameterKind kind) {
      return torch_options<torch::optim::AdamWOptions>().weight_decay(holds(no_decay(), kind) ? 0 : weight_decay());
    };
    return fused_adamw(groups_by_kind(parameters, options_of), options_of(ParameterKind::kWeight));
  }
};

}  // namespace

OptimizerEntry adamw_entry() {
  return optimizer_entry<AdamwOptions>("adamw", "Adam with decoupled weight decay (Loshchilov and Hutter 2019)",
                                       moments_format<torch::optim::AdamWParamState>());
}

}  // namespace debias
