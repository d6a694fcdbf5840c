// The Bayesian contrastive loss: InfoNCE with negatives weighted by their probability of being true negatives and by their hardness.
//
//   L_a = -log[ e^{s_ap} / (e^{s_ap} + sum over the negatives j of omega_j e^{s_aj}) ],     value = mean over the anchors
//   corrected, paper   omega_j = N v_j / sum_k(v_k),   v_j = p(true | rank of s_aj) e^{beta s_aj},   beta >= 0
//   authors            omega_j = a weight by rank alone, not normalised, which includes the hardness; beta in [1/2, 1]
//
// Symbols: s_ab = z_a . z_b / t; p is the anchor's positive view; N = 2B - 2; ranks are among the anchor's negatives, and ties share the
// largest; tau_plus is the probability that two samples share a class; alpha in [1/2, 1] measures how well the encoder ranks.
// bayesian_weights.h defines the weights by rank and the forms. The forms give beta different meanings.
// Special cases: alpha = 1/2 carries no information, so with beta = 0 (corrected, paper) or beta = 1/2 (authors, stabilised) the loss is
// infonce. With tau_plus = 0 ranks do not matter. The loss needs no clamp, because omega_j >= 0.
//
// With alpha = 1 the largest rank has weight 0. If all negatives of an anchor are tied there, every v_j is 0: corrected and paper then use
// the limit alpha -> 1, omega = 1; in authors the anchor has no negatives and loss 0. alpha = beta = 1 would make every weight of authors
// zero and is rejected. detach_weights treats omega as a constant for the gradient, as importance weights are; otherwise gradients flow
// through e^{beta s} (the weights by rank have none). It has no effect in form authors.
//
// Input: z [B, V, D] with rows of unit norm; for V > 2 the loss is the mean over all unordered pairs of views. A single sample has no
// negatives and loss 0. Scores (scores.h): neighbours in a text.
// Diagnostics: effective_sample_size is the mean over anchors of sum(omega)^2 / sum(omega^2).
// Errors: usage error for V < 2 and options out of range (beta of form authors included); data error for shapes, dtypes and sample keys.
//
// Sources: Liu and Wang 2023, "Bayesian Self-Supervised Contrastive Learning"; form paper is its eqs. 1 to 3. The paper uses the share of
// unlabelled negatives as the distribution function of a random pair, which biases the estimate for every N. corrected inverts the mixture
// first, as the released code does, and keeps the paper's weights. authors reproduces that code, exactly with `stabilize` off. The code
// compares all pairs of negatives, with N^3 memory, and sums raw exponentials; here ranks come from sorting and sums stay in log space.
#pragma once

#include <optional>

#include "debias/core/options.h"
#include "debias/losses/bayesian_weights.h"
#include "debias/losses/objective.h"

namespace debias {

class BayesianOptions {
 public:
  DEBIAS_OPTION(BayesianOptions, double, temperature, 0.5)
  DEBIAS_OPTION(BayesianOptions, std::optional<double>, base_temperature, std::nullopt)
  DEBIAS_OPTION(BayesianOptions, BayesianForm, form, BayesianForm::kCorrected)
  DEBIAS_OPTION(BayesianOptions, double, tau_plus, 0.1)
  DEBIAS_OPTION(BayesianOptions, double, alpha, 0.7)
  DEBIAS_OPTION(BayesianOptions, double, beta, 1.0)
  DEBIAS_OPTION(BayesianOptions, bool, stabilize, true)
  DEBIAS_OPTION(BayesianOptions, bool, detach_weights, true)
  static const OptionTable<BayesianOptions>& table();
};

ObjectiveResult bayesian(const ObjectiveInput& input, const BayesianOptions& options);
ObjectiveResult bayesian(const at::Tensor& z, const BayesianOptions& options = {});

ObjectiveEntry bayesian_entry();

}  // namespace debias
