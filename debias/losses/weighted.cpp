#include "debias/losses/weighted.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "debias/core/error.h"
#include "debias/losses/comparison.h"
#include "debias/losses/neighbours.h"
#include "debias/losses/objective_entry.h"

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

namespace {

// log of N sum(w e^s) / sum(w), with weights w proportional to e^{beta s}, from the logs of both sums. With detached weights the gradient
// of the numerator, whose terms grow as e^{(1 + beta) s}, is that of the factor e^s alone.
struct WeightedSum {
  at::Tensor log_sum;      // [rows] log of sum(w e^s)
  at::Tensor log_weights;  // [rows] log of sum(w)
  double beta = 0;
  bool detach_weights = false;
};

at::Tensor log_normalised(const WeightedSum& sum, int64_t negatives) {
  const at::Tensor value = sum.log_sum - sum.log_weights + std::log(static_cast<double>(negatives));
  if (!sum.detach_weights) return value;
  const at::Tensor own = sum.log_sum / (1 + sum.beta);
  return value.detach() + (own - own.detach());
}

// The mean over rows of sum(w)^2 / sum(w^2), in [1, N], from the logs of both sums.
LateNumber effective_sample_size(const at::Tensor& log_weights, const at::Tensor& log_squares, int64_t negatives) {
  const at::Tensor sizes = (2 * log_weights.detach() - log_squares.detach()).to(at::kDouble).exp();
  return LateNumber(sizes.clamp(1, static_cast<double>(negatives)).mean());
}

AnchorLosses losses_of(const Anchors& anchors, const HardNegativesOptions& options) {
  if (anchors.negatives == 0) return no_negatives(anchors.positive);
  const double beta = options.beta;
  const auto sums = anchors.log_sums({{1 + beta}, {beta, options.detach_weights}, {2 * beta, true}});  // the last is diagnostics
  const at::Tensor log_sum = log_normalised({sums[0], sums[1], beta, options.detach_weights}, anchors.negatives);
  AnchorLosses losses = negatives_estimate(anchors, log_sum, options.tau_plus, options.clamp, 1 + 2 * beta);
  losses.effective_sample_size = effective_sample_size(sums[1], sums[2], anchors.negatives);
  return losses;
}

}  // namespace

void HardNegativesOptions::describe(OptionVisitor& o) {
  describe_temperatures(o, temperature, base_temperature);
  o("tau_plus", tau_plus, class_prior_range(), "class prior: probability that two samples share a class");
  o("beta", beta, Range::at_least(0), "weight of a negative is e^{beta s}; 0: equal weights");
  o("clamp", clamp, "handling of an estimate below its floor e^{-1/t}");
  o("detach_weights", detach_weights, "no gradient through the weights");
  o.with_variants();
}

ObjectiveResult HardNegativesOptions::loss(const ObjectiveInput& input) const {
  const BatchComparison batch(input, {.objective = kName, .temperature = temperature, .positives = PositivesFrom::kSums});
  return batch.mean(loss_scale(*this), [&](const Anchors& anchors) { return losses_of(anchors, *this); });
}

ObjectiveResult HardNegativesOptions::on_scores(const Scores& scores) const {
  return mean_over_neighbours(std::get<NeighbourScores>(scores.of), NeighbourNegatives::kNegatives, temperature, loss_scale(*this),
                              [&](const Anchors& anchors) { return losses_of(anchors, *this); });
}

std::string HardNegativesOptions::unfit_for(ScoreForm) const { return unfit_for_products(clamp); }

namespace {

bool by_rank_alone(const BayesianOptions& options) { return options.form == BayesianForm::kAuthors; }

double exponent(const BayesianOptions& options) { return by_rank_alone(options) ? 0 : options.beta; }

// Rows all of whose negatives are tied at a rank of weight zero have the sum of equal weights, the limit of alpha -> 1.
at::Tensor with_tied_rows(const Anchors& anchors, const at::Tensor& log_sum, const at::Tensor& log_weighted) {
  const at::Tensor weightless = log_sum.detach().le(kLogOfNothing / 2);
  if (!weightless.any().item<bool>()) return log_weighted;
  return anchors.log_sums({{1}})[0].where(weightless, log_weighted);
}

AnchorLosses losses_of(const Anchors& anchors, const BayesianOptions& options) {
  if (anchors.negatives == 0) return no_negatives(anchors.positive);
  const RankWeighting weighting = {options.form, options.tau_plus, options.alpha, options.beta, options.stabilize};
  const at::Tensor log_rank = log_rank_weights(weighting, anchors.negatives), log_square = 2 * log_rank;
  const double beta = exponent(options);
  // The weighted sum, the weights' sum, and for the diagnostics that of their squares.
  const auto sums = anchors.ranked_log_sums({{log_rank, 1 + beta}, {log_rank, beta, options.detach_weights}, {log_square, 2 * beta, true}});
  at::Tensor log_negatives = sums[0];
  if (!by_rank_alone(options)) {
    log_negatives = log_normalised({sums[0], sums[1], beta, options.detach_weights}, anchors.negatives);
    if (options.alpha == 1) log_negatives = with_tied_rows(anchors, sums[0], log_negatives);
  }
  AnchorLosses losses = losses_against(log_negatives, anchors.positive);
  losses.effective_sample_size = effective_sample_size(sums[1], sums[2], anchors.negatives);
  return losses;
}

void check_form(const BayesianOptions& options, const std::string& what) {
  if (options.form != BayesianForm::kAuthors) return;
  if (options.beta < 0.5 || options.beta > 1) {
    throw usage_error("{}: beta: form authors takes [0.5, 1], found {}; choose form corrected or paper for other values", what,
                      options.beta);
  }
  if (options.alpha == 1 && options.beta == 1) {
    throw usage_error("{}: alpha 1 with beta 1 weights every negative with zero in form authors; take either below 1", what);
  }
}

}  // namespace

void BayesianOptions::describe(OptionVisitor& o) {
  describe_temperatures(o, temperature, base_temperature);
  o("form", form, "the paper's weights with the mixture inverted, as printed, or the released code's");
  o("tau_plus", tau_plus, class_prior_range(), "class prior: probability that two samples share a class");
  o("alpha", alpha, Range::closed(0.5, 1), "probability that the encoder ranks a positive above a true negative");
  o("beta", beta, Range::at_least(0), "hardness: weights grow as e^{beta s}; form authors: a mixture, in [0.5, 1]");
  o("stabilize", stabilize, "form authors without the 1e-3 that its code adds to two divisors");
  o("detach_weights", detach_weights, "no gradient through the weights");
  o.with_variants();
  o.variant("paper", "form", "paper");
  o.variant("authors", "form", "authors");
  o.variant("authors", "stabilize", "false");
  o.check([this](const std::string& what) { check_form(*this, what); });
}

ObjectiveResult BayesianOptions::loss(const ObjectiveInput& input) const {
  const BatchComparison batch(input,
                              {.objective = kName, .temperature = temperature, .one_positive = true, .positives = PositivesFrom::kSums});
  return batch.mean(loss_scale(*this), [&](const Anchors& anchors) { return losses_of(anchors, *this); });
}

ObjectiveResult BayesianOptions::on_scores(const Scores& scores) const {
  return mean_over_neighbours(std::get<NeighbourScores>(scores.of), NeighbourNegatives::kNegatives, temperature, loss_scale(*this),
                              [&](const Anchors& anchors) { return losses_of(anchors, *this); });
}

}  // namespace debias
