#include "debias/losses/rank_weights.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace debias {
namespace {

constexpr double kReleasedTerm = 1e-3;  // in the released code's A and in its divisor

struct Position {
  double below = 0, above = 0;  // Phi and 1 - Phi
};

// The root in [0, 1] of a x^2 + b x = share. The discriminant is a square at share = 1 and may round below zero there.
double root(double a, double b, double share) { return share == 0 ? 0 : 2 * share / (b + std::sqrt(std::max(0.0, b * b + 4 * a * share))); }

Position position(const RankWeighting& weighting, int64_t rank, int64_t negatives) {
  const double n = static_cast<double>(negatives), below = static_cast<double>(rank) / n, above = static_cast<double>(negatives - rank) / n;
  if (weighting.form == BayesianForm::kPaper) return {below, above};
  const double alpha = weighting.alpha, tau_plus = weighting.tau_plus, tau_minus = 1 - tau_plus;
  const double a = (1 - 2 * alpha) * (tau_minus - tau_plus), b = 2 * (alpha * tau_minus + (1 - alpha) * tau_plus);
  if (weighting.form == BayesianForm::kAuthors && !weighting.stabilize) {
    const double phi = root(a + kReleasedTerm, b, below);
    return {phi, 1 - phi};
  }
  return {root(a, b, below), root(-a, 1 + a, above)};
}

}  // namespace

double rank_weight(const RankWeighting& weighting, int64_t rank, int64_t negatives) {
  const auto [below, above] = position(weighting, rank, negatives);
  const double alpha = weighting.alpha, beta = weighting.beta, tau_minus = 1 - weighting.tau_plus;
  const double true_density = alpha * above + (1 - alpha) * below, false_density = (1 - alpha) * above + alpha * below;
  const double mixture = tau_minus * true_density + weighting.tau_plus * false_density;
  if (mixture <= 0) return 1;  // alpha = 1, tau_plus = 0, the last rank: the limit from every side
  if (weighting.form != BayesianForm::kAuthors) return tau_minus * true_density / mixture;
  const double nearer = alpha * (1 - beta), farther = (1 - alpha) * beta;
  const double divisor = nearer + farther + (weighting.stabilize ? 0 : kReleasedTerm);
  return (nearer * above + farther * below) / (divisor * mixture);
}

at::Tensor log_rank_weights(const RankWeighting& weighting, int64_t negatives) {
  at::Tensor logs = at::empty({negatives}, at::kDouble);
  double* values = logs.mutable_data_ptr<double>();
  for (int64_t rank = 1; rank <= negatives; ++rank) values[rank - 1] = std::log(rank_weight(weighting, rank, negatives));
  return logs;
}

}  // namespace debias
