// SoftCon: SupCon whose positives weigh the more, the less a model of the bias finds them alike; no bias labels are needed.
//
//   L_a = sum over p of m_ap ( log of the sum over k != a of e^{s_ak}  -  s_ap ) / sum over p of m_ap
//   m_ap = ( 1 - cos(g_a, g_p) ) [ y_p = y_a, p != a ],   s_ab = z_a . z_b / t,   value = mean over all n = V*B rows
//
// g [B, F] (input.weights): features of a model that sees the bias, one row for each sample, of any norm but zero; all views of a sample
// have its features, so that they are never each other's positives. With g one-hot in the bias it is BiasCon. An anchor whose positives'
// weights are zero up to rounding (1e-10 for each row of its class) or of unknown label has loss 0 and counts. Weights have no gradient.
// z [B, V, D], rows of unit norm, V >= 1. base_temperature multiplies the loss by t / base_temperature. The weighted sum of similarities is
// z_a . sum over p of m_ap z_p / t, from one F x D matrix for each class: linear in n, no pair of rows is formed beyond the log of the sum.
// Throws: usage error on options out of range, missing labels or weights; data error on shapes, dtypes, a zero row of g.
//
// Source: Hong and Yang 2021, the soft bias-contrastive loss. Their code adds 1e-9 inside the log in units of the row's largest e^s, and
// lets a zero row of g be unlike everything.
#pragma once

#include <optional>

#include "debias/core/options.h"
#include "debias/losses/objective.h"
#include "debias/losses/objective_module.h"

namespace debias {

class SoftConOptions {
 public:
  DEBIAS_OPTION(SoftConOptions, double, temperature, 0.07)
  DEBIAS_OPTION(SoftConOptions, std::optional<double>, base_temperature, std::nullopt)
  static const OptionTable<SoftConOptions>& table();
};

ObjectiveResult softcon(const ObjectiveInput& input, const SoftConOptions& options);
ObjectiveResult softcon(const at::Tensor& z, const at::Tensor& labels, const at::Tensor& features, const SoftConOptions& options = {});

class SoftConImpl : public ObjectiveModule<SoftConOptions, softcon> {
 public:
  using ObjectiveModule::ObjectiveModule;
  ObjectiveResult forward(const at::Tensor& z, const at::Tensor& labels, const at::Tensor& features) {
    return softcon(z, labels, features, options);
  }
};
TORCH_MODULE(SoftCon);

ObjectiveEntry softcon_entry();

}  // namespace debias
