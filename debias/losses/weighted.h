// Losses that weigh an anchor's negatives, by how hard they are and by how likely they are true ones: hard_negatives, bayesian.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "debias/core/enum_names.h"
#include "debias/core/options.h"
#include "debias/losses/debiased.h"
#include "debias/losses/objective.h"

namespace debias {

// Probability that a negative is a true one, given its similarity rank among the anchor's negatives.
//
// Let Phi be the distribution function of e^s for a random pair. The model: true negatives have the density 2 alpha (1 - Phi) + 2 (1 -
// alpha) Phi relative to it, false negatives the mirror image. alpha is the probability that the positive is nearer than a true negative:
// 1/2 for an uninformative encoder, 1 for a perfect one. With T = alpha (1 - Phi) + (1 - alpha) Phi and F = (1 - alpha) (1 - Phi) + alpha
// Phi,
//
//   p(true) = tau_minus T / (tau_minus T + tau_plus F)
//
// A batch shows not Phi but the share r / N of its unlabelled negatives at or below rank r in 1..N. Its limit is the mixture's A Phi^2 + b
// Phi with A = (1 - 2 alpha)(tau_minus - tau_plus), b = 2 (alpha tau_minus + (1 - alpha) tau_plus), A + b = 1.
//
//   corrected   p(true) at Phi = 2 share / (b + sqrt(b^2 + 4 A share)), stable root of A Phi^2 + b Phi = share, also at A = 0
//   paper       p(true) at Phi = share
//   authors     hard / (tau_minus T + tau_plus F) at that root,
//               hard = (alpha (1 - beta)(1 - Phi) + (1 - alpha) beta Phi) / (alpha (1 - beta) + (1 - alpha) beta), beta in [1/2, 1]
//
// All computations are in double. 1 - Phi has its own root, so that a weight that vanishes at the largest rank (alpha = 1) is exactly 0.
// Without `stabilize`, authors adds 1e-3 to A and to the divisor of `hard`, as the released code does. That code is 0 / 0 where A + 1e-3 =
// 0, at alpha = 1/2 + 0.0005 / (tau_minus - tau_plus); the root above is finite there.
// With tau_plus = 0 every negative is true: p(true) = 1 at every rank, including the limit at alpha = 1.
enum class BayesianForm { kCorrected, kPaper, kAuthors };

constexpr auto enum_words(BayesianForm) { return named("corrected", "paper", "authors"); }

struct RankWeighting {
  BayesianForm form = BayesianForm::kCorrected;
  double tau_plus = 0.1;  // [0, 1)
  double alpha = 0.7;     // [0.5, 1]
  double beta = 1;        // authors: [0.5, 1], not 1 if alpha is 1; no effect in the other forms
  bool stabilize = true;  // authors
};

double rank_weight(const RankWeighting& weighting, int64_t rank, int64_t negatives);  // >= 0, rank in 1..negatives

// double [negatives]: the logs of the weights of ranks 1..negatives; -inf for weight 0.
at::Tensor log_rank_weights(const RankWeighting& weighting, int64_t negatives);

// The debiased contrastive loss with upweighted hard negatives: negatives near the anchor have larger weights. It needs no labels.
//
//   w_j = e^{beta s_aj},   R = N sum_j(w_j e^{s_aj}) / sum_j(w_j) over the N negatives
//   g   = (1 / tau_minus) ( R / N - tau_plus e^{s_ap} ),     L_a = -log[ e^{s_ap} / (e^{s_ap} + N g) ],     value = mean over the anchors
//
// Symbols: s_ab = z_a . z_b / t; p is the anchor's positive view; N = 2B - 2; tau_plus is the probability that two samples share a class;
// tau_minus = 1 - tau_plus; beta >= 0 is the strength of the weighting. beta = 0 is debiased_negatives; beta = 0 and tau_plus = 0 is
// infonce. As beta grows, R tends to N times the largest e^{s_aj}. `clamp` acts as in debiased.h, with R in place of the sum over negatives
// (fallback: N g = R). detach_weights treats w as a constant for the gradient; otherwise gradients flow through it too.
//
// Input: z [B, V, D] with rows of unit norm; for V > 2 the loss is the mean over all unordered pairs of views. A single sample has no
// negatives and loss 0. Scores (objective.h): neighbours in a text with clamp positive, because the floor e^{-1/t} assumes unit rows.
// Diagnostics: min_estimate is the smallest g before any clamp; clamped counts the anchors on which a clamp acted; effective_sample_size is
// the mean over anchors of sum(w)^2 / sum(w^2): N at beta = 0, near 1 where one negative outweighs all others.
// Precision: in single precision log R has an error of about 1e-7 beta / t.
// Errors: usage error for V < 2 and options out of range; data error for shapes, dtypes and sample keys.
//
// Sources: Robinson, Chuang, Sra and Jegelka 2021 (HCL), with one positive; the weights alone are eq. 31 of Liu and Wang 2023, whose HCL
// includes the debiasing above. Differences from the authors' code: it sums raw exponentials and has `floor` only; here sums stay in log
// space. The authors' code lets gradients flow through w, too.
struct HardNegativesOptions {
  static constexpr char kName[] = "hard_negatives";
  static constexpr std::array kScoreForms = {ScoreForm::kNeighbours};
  double temperature = 0.5;
  std::optional<double> base_temperature = std::nullopt;
  double tau_plus = 0.1;
  double beta = 1.0;
  Clamp clamp = Clamp::kFloor;
  bool detach_weights = false;
  void describe(OptionVisitor& o);

  ObjectiveResult loss(const ObjectiveInput& input) const;  // the options must be in their ranges
  ObjectiveResult on_scores(const Scores& scores) const;
  std::string unfit_for(ScoreForm form) const;
};

inline ObjectiveResult hard_negatives(const ObjectiveInput& input, const HardNegativesOptions& options) {
  return checked_loss(input, options);
}
inline ObjectiveResult hard_negatives(const at::Tensor& z, const HardNegativesOptions& options = {}) {
  return checked_loss({.z = z}, options);
}

// The Bayesian contrastive loss: InfoNCE with negatives weighted by their probability of being true negatives and by their hardness.
//
//   L_a = -log[ e^{s_ap} / (e^{s_ap} + sum over the negatives j of omega_j e^{s_aj}) ],     value = mean over the anchors
//   corrected, paper   omega_j = N v_j / sum_k(v_k),   v_j = p(true | rank of s_aj) e^{beta s_aj},   beta >= 0
//   authors            omega_j = a weight by rank alone, not normalised, which includes the hardness; beta in [1/2, 1]
//
// Symbols: s_ab = z_a . z_b / t; p is the anchor's positive view; N = 2B - 2; ranks are among the anchor's negatives, and ties share the
// largest; tau_plus is the probability that two samples share a class; alpha in [1/2, 1] measures how well the encoder ranks.
// RankWeighting above defines the weights by rank and the forms. The forms give beta different meanings.
// Special cases: alpha = 1/2 carries no information, so with beta = 0 (corrected, paper) or beta = 1/2 (authors, stabilised) the loss is
// infonce. With tau_plus = 0 ranks do not matter. The loss needs no clamp, because omega_j >= 0.
//
// With alpha = 1 the largest rank has weight 0. If all negatives of an anchor are tied there, every v_j is 0: corrected and paper then use
// the limit alpha -> 1, omega = 1; in authors the anchor has no negatives and loss 0. alpha = beta = 1 would make every weight of authors
// zero and is rejected. detach_weights treats omega as a constant for the gradient, as importance weights are; otherwise gradients flow
// through e^{beta s} (the weights by rank have none). It has no effect in form authors.
//
// Input: z [B, V, D] with rows of unit norm; for V > 2 the loss is the mean over all unordered pairs of views. A single sample has no
// negatives and loss 0. Scores (objective.h): neighbours in a text.
// Diagnostics: effective_sample_size is the mean over anchors of sum(omega)^2 / sum(omega^2).
// Errors: usage error for V < 2 and options out of range (beta of form authors included); data error for shapes, dtypes and sample keys.
//
// Sources: Liu and Wang 2023, "Bayesian Self-Supervised Contrastive Learning"; form paper is its eqs. 1 to 3. The paper uses the share of
// unlabelled negatives as the distribution function of a random pair, which biases the estimate for every N. corrected inverts the mixture
// first, as the released code does, and keeps the paper's weights. authors reproduces that code, exactly with `stabilize` off. The code
// compares all pairs of negatives, with N^3 memory, and sums raw exponentials; here ranks come from sorting and sums stay in log space.
struct BayesianOptions {
  static constexpr char kName[] = "bayesian";
  static constexpr std::array kScoreForms = {ScoreForm::kNeighbours};
  double temperature = 0.5;
  std::optional<double> base_temperature = std::nullopt;
  BayesianForm form = BayesianForm::kCorrected;
  double tau_plus = 0.1;
  double alpha = 0.7;
  double beta = 1.0;
  bool stabilize = true;
  bool detach_weights = true;
  void describe(OptionVisitor& o);

  ObjectiveResult loss(const ObjectiveInput& input) const;  // the options must be in their ranges
  ObjectiveResult on_scores(const Scores& scores) const;
};

inline ObjectiveResult bayesian(const ObjectiveInput& input, const BayesianOptions& options) { return checked_loss(input, options); }
inline ObjectiveResult bayesian(const at::Tensor& z, const BayesianOptions& options = {}) { return checked_loss({.z = z}, options); }

}  // namespace debias
