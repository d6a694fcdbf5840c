// The debiased contrastive loss: InfoNCE whose sum over negatives is corrected, without labels, for negatives of the anchor's class.
//
//   g = (1 / tau_minus) ( mean over the N negatives of e^{s_aj}  -  tau_plus mean over the M positives of e^{s_am} )
//   L_a = -log[ e^{s_ap} / (e^{s_ap} + N g) ],      value = mean over the anchors
//
// Symbols: s_ab = z_a . z_b / t; p is the anchor's positive view; tau_plus is the probability that two samples share a class; tau_minus = 1
// - tau_plus; N = 2B - 2. g estimates a mean of e^s and can fall below the smallest possible value of that mean. `clamp` sets what then
// happens to the anchor:
//   floor     g = e^{-1/t}, the smallest e^s of unit rows
//   positive  g = 1e-30 of the row's largest e^s, for rows of any norm
//   fallback  the anchor's InfoNCE loss (N g = sum over negatives)
//   none      nothing; an anchor with e^{s_ap} + N g <= 0 has no loss and leaves the mean
// Where floor or positive acts, N g is a constant and has no gradient. tau_plus = 0 is InfoNCE, because e^s of unit rows is above the
// floor.
//
// Input: z [B, V, D] with rows of unit norm. For V > 2, `aggregation` grouping takes the rows of views 0 and 1 as anchors and negatives,
// and the M = V - 1 other views of an anchor as positives; only its positive view is in the numerator. pairs averages the two-view loss
// over all unordered pairs of views. With drop_false_negatives, which needs labels, negatives of the anchor's class count as zero and N is
// unchanged. A single sample has no negatives and loss 0.
// Scores (scores.h): draws from a bank with clamp fallback at temperatures of at least 2e-3, and neighbours in a text with clamp positive.
// Scores have neither unit rows, which the floor e^{-1/t} assumes, nor labels or views. With tau_plus = 0 the loss of scores is infonce's.
// Diagnostics: min_estimate is the smallest g before any clamp, per negative (null without negatives); clamped counts the anchors on which
// floor, fallback or positive acted.
// Errors: usage error for V < 2, options out of range and missing labels; data error for shapes and dtypes.
//
// Source: Chuang et al. 2020, eqs. 7 and 8 (Q = N). Differences from their code: it has M = 1 and `floor` only; it sums raw exponentials,
// where sums here stay in log space. Both divide cosines by t once; the text's sphere of radius 1/t would give the floor e^{-1/t^2}. Small
// temperatures need `fallback` (t = 0.07 with CMC on ImageNet-100).
#pragma once

#include <optional>

#include "debias/core/options.h"
#include "debias/losses/aggregation.h"
#include "debias/losses/negatives_estimate.h"
#include "debias/losses/objective.h"

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

// The losses of one pair of views. The sums must have the temperature and drop_false_negatives of these options.
AnchorLosses debiased_negatives_losses(const TwoViewSums& sums, const DebiasedNegativesOptions& options);

ObjectiveEntry debiased_negatives_entry();

}  // namespace debias
