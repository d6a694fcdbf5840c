#pragma once

#include <string>

#include "debias/core/options.h"

namespace debias {

// Common options of SGD and LARS: a running sum of gradients.
struct MomentumOptions {
  double learning_rate = 0.1;
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0;
  void describe(OptionVisitor& o) {
    o("learning_rate", learning_rate, Range::at_least(0), "learning rate before the schedule is applied");
    o("momentum", momentum, Range::half_open(0, 1), "decay of the running sum of gradients");
    o("nesterov", nesterov, "use Nesterov momentum");
    o("weight_decay", weight_decay, Range::at_least(0), "L2 penalty: multiplies the weights and is added to the gradient");
    o.check([this](const std::string& what) {
      if (!nesterov || momentum > 0) return;
      throw usage_error("{}: nesterov: true needs a momentum above 0; give one, or leave nesterov out", what);
    });
  }
};

}  // namespace debias
