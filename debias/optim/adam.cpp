#include "debias/optim/adam_options.h"
#include "debias/optim/fused_rules.h"
#include "debias/optim/optimizer_entry.h"

namespace debias {
namespace {

class AdamOptions : public AdamMomentOptions, public CommonOptimizerOptions {
 public:
  DEBIAS_OPTION(AdamOptions, double, weight_decay, 0)

  static const OptionTable<AdamOptions>& table() {
    static const auto table = OptionTable<AdamOptions>()
                                  .include(AdamMomentOptions::table())
                                  .add("weight_decay", &AdamOptions::weight_decay_, Range::at_least(0),
                                       "L2 penalty: multiplies the weights and is added to the gradient")
                                  .include(CommonOptimizerOptions::table())
                                  .check(require_two_betas);
    return table;
  }

  std::unique_ptr<torch::optim::Optimizer> rule(const std::vector<OptimizedParameter>& parameters) const {
    const auto options_of = [this](ParameterKind kind) {
      return torch_options<torch::optim::AdamOptions>().weight_decay(holds(no_decay(), kind) ? 0 : weight_decay());
    };
    return fused_adam(groups_by_kind(parameters, options_of), options_of(ParameterKind::kWeight));
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

OptimizerEntry adam_entry() {
  return optimizer_entry<AdamOptions>("adam", "Adam (Kingma and Ba 2015); weight decay is L2, not decoupled",
                                      moments_format<torch::optim::AdamParamState>());
}

}  // namespace debias
