// The debiased contrastive loss with upweighted hard negatives: negatives near the anchor have larger weights. It needs no labels.
//
//   w_j = e^{beta s_aj},   R = N sum_j(w_j e^{s_aj}) / sum_j(w_j) over the N negatives
//   g   = (1 / tau_minus) ( R / N - tau_plus e^{s_ap} ),     L_a = -log[ e^{s_ap} / (e^{s_ap} + N g) ],     value = mean over the anchors
//
// Symbols: s_ab = z_a . z_b / t; p is the anchor's positive view; N = 2B - 2; tau_plus is the probability that two samples share a class;
// tau_minus = 1 - tau_plus; beta >= 0 is the strength of the weighting. beta = 0 is debiased_negatives; beta = 0 and tau_plus = 0 is
// infonce. As beta grows, R tends to N times the largest e^{s_aj}. `clamp` acts as in debiased_negatives.h, with R in place of the sum over
// negatives (fallback: N g = R). detach_weights treats w as a constant for the gradient; otherwise gradients flow through it too.
//
// Input: z [B, V, D] with rows of unit norm; for V > 2 the loss is the mean over all unordered pairs of views. A single sample has no
// negatives and loss 0. Scores (scores.h): neighbours in a text with clamp positive, because the floor e^{-1/t} assumes unit rows.
// Diagnostics: min_estimate is the smallest g before any clamp; clamped counts the anchors on which a clamp acted; effective_sample_size is
// the mean over anchors of sum(w)^2 / sum(w^2): N at beta = 0, near 1 where one negative outweighs all others.
// Precision: in single precision log R has an error of about 1e-7 beta / t.
// Errors: usage error for V < 2 and options out of range; data error for shapes, dtypes and sample keys.
//
// Sources: Robinson, Chuang, Sra and Jegelka 2021 (HCL), with one positive; the weights alone are eq. 31 of Liu and Wang 2023, whose HCL
// includes the debiasing above. Differences from the authors' code: it sums raw exponentials and has `floor` only; here sums stay in log
// space. The authors' code lets gradients flow through w, too.
#pragma once

#include <optional>

#include "debias/core/options.h"
#include "debias/losses/negatives_estimate.h"
#include "debias/losses/objective.h"

namespace debias {

class HardNegativesOptions {
 public:
  DEBIAS_OPTION(HardNegativesOptions, double, temperature, 0.5)
  DEBIAS_OPTION(HardNegativesOptions, std::optional<double>, base_temperature, std::nullopt)
  DEBIAS_OPTION(HardNegativesOptions, double, tau_plus, 0.1)
  DEBIAS_OPTION(HardNegativesOptions, double, beta, 1.0)
  DEBIAS_OPTION(HardNegativesOptions, Clamp, clamp, Clamp::kFloor)
  DEBIAS_OPTION(HardNegativesOptions, bool, detach_weights, false)
  static const OptionTable<HardNegativesOptions>& table();
};

ObjectiveResult hard_negatives(const ObjectiveInput& input, const HardNegativesOptions& options);
ObjectiveResult hard_negatives(const at::Tensor& z, const HardNegativesOptions& options = {});

ObjectiveEntry hard_negatives_entry();

}  // namespace debias
