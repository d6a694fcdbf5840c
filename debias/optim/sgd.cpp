#include "debias/optim/fused_rules.h"
#include "debias/optim/momentum_options.h"
#include "debias/optim/optimizer_entry.h"

namespace debias {
namespace {

class SgdOptions : public MomentumOptions, public CommonOptimizerOptions {
 public:
  static const OptionTable<SgdOptions>& table() {
    static const auto table = OptionTable<SgdOptions>()
                                  .include(MomentumOptions::table())
                                  .include(CommonOptimizerOptions::table())
                                  .check(require_momentum_for_nesterov);
    return table;
  }

  std::unique_ptr<torch::optim::Optimizer> rule(const std::vector<OptimizedParameter>& parameters) const {
    const auto options_of = [this](ParameterKind kind) {
      return torch::optim::SGDOptions(learning_rate())
          .momentum(momentum())
          .nesterov(nesterov())
          .weight_decay(holds(no_decay(), kind) ? 0 : weight_decay());
    };
    return fused_sgd(groups_by_kind(parameters, options_of), options_of(ParameterKind::kWeight));
  }
};

}  // namespace

const OptionTable<MomentumOptions>& MomentumOptions::table() {
  using Self = MomentumOptions;
  static const auto table =
      OptionTable<Self>()
          .add("learning_rate", &Self::learning_rate_, Range::at_least(0), "learning rate before the schedule is applied")
          .add("momentum", &Self::momentum_, Range::half_open(0, 1), "decay of the running sum of gradients")
          .add("nesterov", &Self::nesterov_, "use Nesterov momentum")
          .add("weight_decay", &Self::weight_decay_, Range::at_least(0), "L2 penalty: multiplies the weights and is added to the gradient");
  return table;
}

void MomentumOptions::require_momentum_for_nesterov(const MomentumOptions& options, const std::string& what) {
  if (!options.nesterov() || options.momentum() > 0) return;
  throw usage_error("{}: nesterov: true needs a momentum above 0; give one, or leave nesterov out", what);
}

ChosenOptimizer sgd_optimizer(const MomentumOptions& given) {
  SgdOptions options;
  static_cast<MomentumOptions&>(options) = given;
  return chosen_optimizer("sgd", options, momentum_format());
}

OptimizerEntry sgd_entry() { return optimizer_entry<SgdOptions>("sgd", "stochastic gradient descent with momentum", momentum_format()); }

}  // namespace debias
