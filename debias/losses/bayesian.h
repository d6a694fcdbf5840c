// The Bayesian contrastive loss: InfoNCE whose negatives are weighted by how likely they are true ones and by how hard they are.
//
//   L_a = -log[ e^{s_ap} / (e^{s_ap} + sum over the negatives j of omega_j e^{s_aj}) ],     value = mean over the anchors
//   corrected, paper   omega_j = N v_j / sum_k(v_k),   v_j = p(true | rank of s_aj) e^{beta s_aj},   beta >= 0
//   authors            omega_j = a weight by rank alone, not normalised, in which beta in [1/2, 1] mixes hardness in
//
// s_ab = z_a . z_b / t, p the anchor's positive view, N = 2B - 2, ranks among the anchor's negatives (ties share the largest), tau_plus the
// probability that two samples share a class, alpha in [1/2, 1] how well the encoder ranks. bayesian_weights.h has the weights by rank and
// says how the forms differ; a beta of one form means nothing in another. alpha = 1/2 knows nothing: with beta = 0 (corrected, paper) or
// beta = 1/2 (authors, stabilised) the loss is infonce. tau_plus = 0: ranks do not matter. No clamp is needed: omega_j >= 0.
//
// alpha = 1 gives the largest rank the weight 0. An anchor whose negatives are all tied there has v = 0 throughout; corrected and paper
// then take the limit alpha -> 1, omega = 1, and authors has no negatives, loss 0. alpha = beta = 1 would make every weight of authors zero
// and is rejected. detach_weights: omega is a constant for the gradient, as importance weights are; else gradients flow through e^{beta s}
// (the weights by rank carry none). It changes nothing in form authors.
//
// z [B, V, D], rows of unit norm; V > 2: the mean over all unordered pairs of views. One sample has no negatives: its loss is 0.
// On scores (scores.h): neighbours in a text.
// Diagnostics: effective_sample_size is the mean over anchors of sum(omega)^2 / sum(omega^2). Throws: usage error on V < 2, options out of
// range (beta of form authors included); data error on shapes, dtypes and sample keys.
//
// Sources: Liu and Wang 2023, "Bayesian Self-Supervised Contrastive Learning": form paper is its eqs. 1 to 3. It reads the share of
// unlabelled negatives as the distribution function of a random pair, which biases the estimate for every N; corrected inverts the mixture
// first, as the released code does, and keeps the paper's weights. Form authors is that code, with `stabilize` off to its last digit: it
// compares all pairs of negatives, N^3 in memory, and sums raw exponentials; here ranks come from sorting and sums stay in log space.
#pragma once

#include <optional>

#include "debias/core/options.h"
#include "debias/losses/bayesian_weights.h"
#include "debias/losses/objective.h"
#include "debias/losses/objective_module.h"

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

class BayesianImpl : public ObjectiveModule<BayesianOptions, bayesian> {
 public:
  using ObjectiveModule::ObjectiveModule;
};
TORCH_MODULE(Bayesian);

ObjectiveEntry bayesian_entry();

}  // namespace debias
