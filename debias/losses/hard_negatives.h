// The debiased contrastive loss with hard negatives up-weighted: negatives near the anchor count for more, without labels.
//
//   w_j = e^{beta s_aj},   R = N sum_j(w_j e^{s_aj}) / sum_j(w_j) over the N negatives
//   g   = (1 / tau_minus) ( R / N - tau_plus e^{s_ap} ),     L_a = -log[ e^{s_ap} / (e^{s_ap} + N g) ],     value = mean over the anchors
//
// s_ab = z_a . z_b / t, p the anchor's positive view, N = 2B - 2, tau_plus the probability that two samples share a class, tau_minus = 1 -
// tau_plus, beta >= 0 how hard the weighting is. beta = 0 is debiased_negatives, beta = 0 and tau_plus = 0 is infonce; as beta grows, R
// tends to N times the largest e^{s_aj}. `clamp` acts as in debiased_negatives.h with R in place of the sum over negatives: floor,
// positive, none, and fallback, which is N g = R. detach_weights: w is a constant for the gradient; else gradients flow through it too.
//
// z [B, V, D], rows of unit norm; V > 2: the mean over all unordered pairs of views. One sample has no negatives: its loss is 0.
// On scores (scores.h): neighbours in a text with clamp positive; the floor e^{-1/t} is for unit rows.
// Diagnostics: min_estimate is the least g before any clamp; clamped counts the anchors on which a clamp acted; effective_sample_size is the
// mean over anchors of sum(w)^2 / sum(w^2), N at beta = 0 and near 1 where one negative outweighs all. In single precision log R carries an
// error of about 1e-7 beta / t. Throws: usage error on V < 2, options out of range; data error on shapes, dtypes and sample keys.
//
// Sources: Robinson, Chuang, Sra, Jegelka 2021 (HCL), with one positive; the weights alone are eq. 31 of Liu and Wang 2023, whose HCL
// includes the debiasing above. Differences from the authors' code: it sums raw exponentials and knows `floor` only; here all stays in log
// space. It too lets gradients flow through w.
#pragma once

#include <optional>

#include "debias/core/options.h"
#include "debias/losses/negatives_estimate.h"
#include "debias/losses/objective.h"
#include "debias/losses/objective_module.h"

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

class HardNegativesImpl : public ObjectiveModule<HardNegativesOptions, hard_negatives> {
 public:
  using ObjectiveModule::ObjectiveModule;
};
TORCH_MODULE(HardNegatives);

ObjectiveEntry hard_negatives_entry();

}  // namespace debias
