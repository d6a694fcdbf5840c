// BiasCon: SupCon whose positives are the rows of the anchor's class with another bias.
//
//   L_a = mean over p in P(a) of ( log of the sum over k != a of e^{s_ak}  -  s_ap ),   P(a) = { p : y_p = y_a, b_p != b_a }
//
// s_ab = z_a . z_b / t, y labels, b bias; value = mean over all n = V*B rows. The other views of a's sample share its bias and are never
// positives. An anchor without positives has loss 0 and counts. An unknown label (-1) has no positives; an unknown bias differs from every
// bias but that of its own sample. z [B, V, D], rows of unit norm, V >= 1. base_temperature multiplies the loss by t / base_temperature.
// Throws: usage error on options out of range, missing labels or bias; data error on shapes and dtypes.
//
// Source: Hong and Yang 2021, the bias-contrastive loss. Their code adds 1e-9 inside the log, in units of the row's largest e^s: without
// effect unless every other row is further than cosine 1 + t log 1e-9 (-0.45 at t = 0.07), so no option carries it.
#pragma once

#include <optional>

#include "debias/core/options.h"
#include "debias/losses/objective.h"
#include "debias/losses/objective_module.h"

namespace debias {

class BiasConOptions {
 public:
  DEBIAS_OPTION(BiasConOptions, double, temperature, 0.07)
  DEBIAS_OPTION(BiasConOptions, std::optional<double>, base_temperature, std::nullopt)
  static const OptionTable<BiasConOptions>& table();
};

ObjectiveResult biascon(const ObjectiveInput& input, const BiasConOptions& options);
ObjectiveResult biascon(const at::Tensor& z, const at::Tensor& labels, const at::Tensor& bias, const BiasConOptions& options = {});

class BiasConImpl : public ObjectiveModule<BiasConOptions, biascon> {
 public:
  using ObjectiveModule::ObjectiveModule;
  ObjectiveResult forward(const at::Tensor& z, const at::Tensor& labels, const at::Tensor& bias) {
    return biascon(z, labels, bias, options);
  }
};
TORCH_MODULE(BiasCon);

ObjectiveEntry biascon_entry();

}  // namespace debias
