// SoftCon: SupCon whose positives have larger weights the less similar they are under a bias model. It needs no bias labels.
//
//   L_a = sum over p of m_ap ( log of the sum over k != a of e^{s_ak}  -  s_ap ) / sum over p of m_ap
//   m_ap = ( 1 - cos(g_a, g_p) ) [ y_p = y_a, p != a ],   s_ab = z_a . z_b / t,   value = mean over all n = V*B rows
//
// g [B, F] (input.weights) are features of a model that sees the bias, one nonzero row per sample. All views of a sample have its features
// and are therefore never each other's positives. With g one-hot in the bias label the loss is BiasCon. An anchor has loss 0 and counts in
// the mean if its label is unknown or its positives' weights are zero up to rounding (1e-10 for each row of its class). Weights have no
// gradient.
// Input: z [B, V, D] with rows of unit norm, V >= 1. base_temperature multiplies the loss by t / base_temperature.
// Cost: the weighted sum of similarities is z_a . sum over p of m_ap z_p / t, from one F x D matrix per class. It is linear in n; only the
// log of the sum needs pairs of rows.
// Errors: usage error for options out of range and missing labels or weights; data error for shapes, dtypes and a zero row of g.
//
// Source: Hong and Yang 2021, the soft bias-contrastive loss. Their code adds 1e-9 inside the log in units of the row's largest e^s, and
// treats a zero row of g as dissimilar to every row.
#pragma once

#include <optional>

#include "debias/core/options.h"
#include "debias/losses/objective.h"

namespace debias {

class SoftConOptions {
 public:
  DEBIAS_OPTION(SoftConOptions, double, temperature, 0.07)
  DEBIAS_OPTION(SoftConOptions, std::optional<double>, base_temperature, std::nullopt)
  static const OptionTable<SoftConOptions>& table();
};

ObjectiveResult softcon(const ObjectiveInput& input, const SoftConOptions& options);
ObjectiveResult softcon(const at::Tensor& z, const at::Tensor& labels, const at::Tensor& features, const SoftConOptions& options = {});

ObjectiveEntry softcon_entry();

}  // namespace debias
