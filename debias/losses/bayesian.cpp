#include "debias/losses/bayesian.h"

#include <ATen/ATen.h>

#include "debias/core/error.h"
#include "debias/losses/importance_weights.h"
#include "debias/losses/keyed_input.h"
#include "debias/losses/objective_entry.h"
#include "debias/losses/scores/neighbours.h"
#include "debias/losses/temperature_options.h"
#include "debias/losses/two_view.h"

namespace debias {
namespace {

constexpr char kBayesianName[] = "bayesian";

bool by_rank_alone(const BayesianOptions& options) { return options.form() == BayesianForm::kAuthors; }

double exponent(const BayesianOptions& options) { return by_rank_alone(options) ? 0 : options.beta(); }

// Rows all of whose negatives are tied at a rank of weight zero have the sum of equal weights, the limit of alpha -> 1.
at::Tensor with_tied_rows(const NegativeSums& sums, const at::Tensor& log_sum, const at::Tensor& log_weighted) {
  const at::Tensor weightless = log_sum.detach().le(kLogOfNothing / 2);
  if (!weightless.any().item<bool>()) return log_weighted;
  return sums.log_sums({{1}})[0].where(weightless, log_weighted);
}

AnchorLosses losses_of(const ScoredAnchors& anchors, const BayesianOptions& options) {
  const RankWeighting weighting = {options.form(), options.tau_plus(), options.alpha(), options.beta(), options.stabilize()};
  const at::Tensor log_rank = log_rank_weights(weighting, anchors.negatives), log_square = 2 * log_rank;
  const double beta = exponent(options);
  // The weighted sum, the weights' sum, and for the diagnostics that of their squares.
  const auto sums =
      anchors.sums.ranked_log_sums({{log_rank, 1 + beta}, {log_rank, beta, options.detach_weights()}, {log_square, 2 * beta, true}});
  at::Tensor log_negatives = sums[0];
  if (!by_rank_alone(options)) {
    log_negatives = log_normalised({sums[0], sums[1], beta, options.detach_weights()}, anchors.negatives);
    if (options.alpha() == 1) log_negatives = with_tied_rows(anchors.sums, sums[0], log_negatives);
  }
  AnchorLosses losses = losses_against(log_negatives, anchors.positive);
  losses.effective_sample_size = effective_sample_size(sums[1], sums[2], anchors.negatives);
  return losses;
}

void check_form(const BayesianOptions& options, const std::string& what) {
  if (options.form() != BayesianForm::kAuthors) return;
  if (options.beta() < 0.5 || options.beta() > 1) {
    throw usage_error("{}: beta: form authors takes [0.5, 1], found {}; choose form corrected or paper for other values", what,
                      options.beta());
  }
  if (options.alpha() == 1 && options.beta() == 1) {
    throw usage_error("{}: alpha 1 with beta 1 weights every negative with zero in form authors; take either below 1", what);
  }
}

}  // namespace

const OptionTable<BayesianOptions>& BayesianOptions::table() {
  using Self = BayesianOptions;
  static const auto table =
      table_with_temperatures<Self>()
          .add("form", &Self::form_, "the paper's weights with the mixture inverted, as printed, or the released code's")
          .add("tau_plus", &Self::tau_plus_, class_prior_range(), "class prior: probability that two samples share a class")
          .add("alpha", &Self::alpha_, Range::closed(0.5, 1), "probability that the encoder ranks a positive above a true negative")
          .add("beta", &Self::beta_, Range::at_least(0), "hardness: weights grow as e^{beta s}; form authors: a mixture, in [0.5, 1]")
          .add("stabilize", &Self::stabilize_, "form authors without the 1e-3 that its code adds to two divisors")
          .add("detach_weights", &Self::detach_weights_, "no gradient through the weights")
          .with_variants()
          .variant("paper", "form", "paper")
          .variant("authors", "form", "authors")
          .variant("authors", "stabilize", "false")
          .check(check_form);
  return table;
}

namespace {

ObjectiveResult computed(const ObjectiveInput& given, const BayesianOptions& options) {
  const ObjectiveInput input = checked_views(given, kBayesianName);
  require_one_positive(input, kBayesianName);
  return mean_over_weighted_rows(input, options.temperature(), loss_scale(options), kBayesianName,
                                 [&](const ScoredAnchors& anchors) { return losses_of(anchors, options); });
}

ObjectiveResult on_scores(const Scores& scores, const BayesianOptions& options) {
  return mean_over_neighbours(std::get<NeighbourScores>(scores.of), NeighbourNegatives::kNegatives, options.temperature(),
                              loss_scale(options), [&](const ScoredAnchors& anchors) { return losses_of(anchors, options); });
}

}  // namespace

ObjectiveResult bayesian(const ObjectiveInput& input, const BayesianOptions& options) {
  return computed(input, verified(options, kBayesianName));
}

ObjectiveResult bayesian(const at::Tensor& z, const BayesianOptions& options) { return bayesian(ObjectiveInput{.z = z}, options); }

ObjectiveEntry bayesian_entry() {
  ObjectiveEntry entry;
  entry.name = kBayesianName;
  entry.aliases = {"bcl"};
  entry.summary = "InfoNCE with negatives weighted by hardness and by their probability of being true negatives (Liu and Wang 2023 eq. 1)";
  entry.min_views = 2;
  entry.takes_keys = true;
  return with_options<BayesianOptions>(std::move(entry), computed, {{ScoreForm::kNeighbours}, on_scores});
}

}  // namespace debias
