// The debiased contrastive loss: InfoNCE whose sum over negatives is corrected for those that share the anchor's class, without labels.
//
//   g = (1 / tau_minus) ( mean over the N negatives of e^{s_aj}  -  tau_plus mean over the M positives of e^{s_am} )
//   L_a = -log[ e^{s_ap} / (e^{s_ap} + N g) ],      value = mean over the anchors
//
// s_ab = z_a . z_b / t, p the anchor's positive view, tau_plus the probability that two samples share a class, tau_minus = 1 - tau_plus,
// N = 2B - 2. g estimates a mean of e^s and may fall below every value such a mean can take; `clamp` says what then happens to that anchor:
//   floor     g = e^{-1/t}, the least e^s of unit rows          fallback  the anchor's InfoNCE loss (N g = sum over negatives)
//   positive  g = 1e-30 of the row's largest e^s (rows of any norm: acts where g is below that)
//   none      nothing; an anchor with e^{s_ap} + N g <= 0 has no loss and leaves the mean
// If floor or positive acts, N g is a constant: no gradient passes through it. tau_plus = 0 is InfoNCE: e^s of unit rows is above the
// floor.
//
// z [B, V, D], rows of unit norm. V > 2, aggregation grouping: anchors and negatives are the rows of views 0 and 1 and the positives of an
// anchor its M = V - 1 other views; the numerator has its positive view alone. pairs: the two-view loss of all unordered pairs of views,
// averaged. drop_false_negatives (needs labels): negatives of the anchor's class count as zero, N stays. One sample has no negatives: its
// loss is 0.
//
// On scores (scores.h): draws from a bank with clamp fallback, at temperatures of at least 2e-3, and neighbours in a text with clamp positive.
// The floor e^{-1/t} is for unit rows, and scores have neither labels nor views. With tau_plus = 0 the loss of scores is infonce's.
//
// Diagnostics: min_estimate is the least g before any clamp, in g per negative (null without negatives); clamped counts the anchors
// on which floor, fallback or positive acted. Throws: usage error on V < 2, options out of range, missing labels; data error on shapes and
// dtypes.
//
// Sources: Chuang et al. 2020, eq. 7 and 8 (Q = N). Differences from their code: it has M = 1 and `floor` only; it sums raw exponentials,
// here all stays in log space; it divides cosines by t once, as here, where the text's sphere of radius 1/t would give the floor
// e^{-1/t^2}. `fallback` is what small t needs (t = 0.07 with CMC on ImageNet-100).
#pragma once

#include <optional>

#include "debias/core/options.h"
#include "debias/losses/aggregation.h"
#include "debias/losses/negatives_estimate.h"
#include "debias/losses/objective.h"
#include "debias/losses/objective_module.h"

namespace debias {

class DebiasedNegativesOptions {
 public:
  DEBIAS_OPTION(DebiasedNegativesOptions, double, temperature, 0.5)
  DEBIAS_OPTION(DebiasedNegativesOptions, std::optional<double>, base_temperature, std::nullopt)
  DEBIAS_OPTION(DebiasedNegativesOptions, double, tau_plus, 0.1)
  DEBIAS_OPTION(DebiasedNegativesOptions, Clamp, clamp, Clamp::kFloor)
  DEBIAS_OPTION(DebiasedNegativesOptions, Aggregation, aggregation, Aggregation::kGrouping)
  DEBIAS_OPTION(DebiasedNegativesOptions, bool, drop_false_negatives, false)
  static const OptionTable<DebiasedNegativesOptions>& table();
};

ObjectiveResult debiased_negatives(const ObjectiveInput& input, const DebiasedNegativesOptions& options);
ObjectiveResult debiased_negatives(const at::Tensor& z, const DebiasedNegativesOptions& options = {}, const at::Tensor& labels = {});

class DebiasedNegativesImpl : public ObjectiveModule<DebiasedNegativesOptions, debiased_negatives> {
 public:
  using ObjectiveModule::ObjectiveModule;
};
TORCH_MODULE(DebiasedNegatives);

// The losses of one pair of views, for sums formed with these options' temperature and drop_false_negatives.
AnchorLosses debiased_negatives_losses(const TwoViewSums& sums, const DebiasedNegativesOptions& options);

ObjectiveEntry debiased_negatives_entry();

}  // namespace debias
