#pragma once

#include <string>

#include "debias/core/options.h"

namespace debias {

// Common options of SGD and LARS: a running sum of gradients.
class MomentumOptions {
 public:
  DEBIAS_OPTION(MomentumOptions, double, learning_rate, 0.1)
  DEBIAS_OPTION(MomentumOptions, double, momentum, 0.9)
  DEBIAS_OPTION(MomentumOptions, bool, nesterov, false)
  DEBIAS_OPTION(MomentumOptions, double, weight_decay, 0)
  static const OptionTable<MomentumOptions>& table();

  static void require_momentum_for_nesterov(const MomentumOptions& options, const std::string& what);
};

}  // namespace debias
