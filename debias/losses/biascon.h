// BiasCon: SupCon in which the positives are the rows of the anchor's class with a different bias label.
//
//   L_a = mean over p in P(a) of ( log of the sum over k != a of e^{s_ak}  -  s_ap ),   P(a) = { p : y_p = y_a, b_p != b_a }
//
// Symbols: s_ab = z_a . z_b / t, labels y, bias labels b; value = mean over all n = V*B rows. The other views of a's sample share its bias
// label and are never positives. An anchor without positives has loss 0 and counts in the mean. An unknown label (-1) has no positives. An
// unknown bias label differs from every other, except within its own sample.
// Input: z [B, V, D] with rows of unit norm, V >= 1. base_temperature multiplies the loss by t / base_temperature.
// Errors: usage error for options out of range and missing labels or bias labels; data error for shapes and dtypes.
//
// Source: Hong and Yang 2021, the bias-contrastive loss. Their code adds 1e-9 inside the log, in units of the row's largest e^s. This has
// no effect unless every other row has a cosine below 1 + t log 1e-9 (-0.45 at t = 0.07), so there is no option for it.
#pragma once

#include <optional>

#include "debias/core/options.h"
#include "debias/losses/objective.h"

namespace debias {

class BiasConOptions {
 public:
  DEBIAS_OPTION(BiasConOptions, double, temperature, 0.07)
  DEBIAS_OPTION(BiasConOptions, std::optional<double>, base_temperature, std::nullopt)
  static const OptionTable<BiasConOptions>& table();
};

ObjectiveResult biascon(const ObjectiveInput& input, const BiasConOptions& options);
ObjectiveResult biascon(const at::Tensor& z, const at::Tensor& labels, const at::Tensor& bias, const BiasConOptions& options = {});

ObjectiveEntry biascon_entry();

}  // namespace debias
