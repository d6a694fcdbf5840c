// SupCon with positives that differ from the anchor in the bias: biascon, softcon.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "debias/core/options.h"
#include "debias/losses/objective.h"

namespace debias {

// Features of a frozen model that sees the bias, one row per sample. They measure how similar two samples are in the bias, without bias
// labels.

// ObjectiveInput::weights [B, F] as double rows of norm 1 on the device of z, without gradient. Data error, naming `objective`: a dtype or
// shape that does not fit z, or a row without a direction, because it is zero or not finite.
at::Tensor unit_bias_features(const ObjectiveInput& input, const char* objective);

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
struct BiasConOptions {
  static constexpr char kName[] = "biascon";
  double temperature = 0.07;
  std::optional<double> base_temperature = std::nullopt;
  void describe(OptionVisitor& o);

  ObjectiveResult loss(const ObjectiveInput& input) const;  // the options must be in their ranges
};

inline ObjectiveResult biascon(const ObjectiveInput& input, const BiasConOptions& options) { return checked_loss(input, options); }
inline ObjectiveResult biascon(const at::Tensor& z, const at::Tensor& labels, const at::Tensor& bias, const BiasConOptions& options = {}) {
  return checked_loss({.z = z, .labels = labels, .bias = bias}, options);
}

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
struct SoftConOptions {
  static constexpr char kName[] = "softcon";
  double temperature = 0.07;
  std::optional<double> base_temperature = std::nullopt;
  void describe(OptionVisitor& o);

  ObjectiveResult loss(const ObjectiveInput& input) const;  // the options must be in their ranges
};

inline ObjectiveResult softcon(const ObjectiveInput& input, const SoftConOptions& options) { return checked_loss(input, options); }
inline ObjectiveResult softcon(const at::Tensor& z, const at::Tensor& labels, const at::Tensor& features,
                               const SoftConOptions& options = {}) {
  return checked_loss({.z = z, .labels = labels, .weights = features}, options);
}

}  // namespace debias
