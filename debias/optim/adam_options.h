// Common options of Adam and AdamW.
#pragma once

#include <string>
#include <vector>

#include "debias/core/options.h"

namespace debias {

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

}  // namespace debias
