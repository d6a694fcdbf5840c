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
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "debias/core/enum_names.h"

namespace debias {

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

}  // namespace debias
