#include "debias/losses/hard_negatives.h"

#include <ATen/ATen.h>

#include "debias/losses/importance_weights.h"
#include "debias/losses/objective_entry.h"
#include "debias/losses/scores/neighbours.h"
#include "debias/losses/temperature_options.h"
#include "debias/losses/two_view.h"

namespace debias {
namespace {

constexpr char kHardNegativesName[] = "hard_negatives";

AnchorLosses losses_of(const ScoredAnchors& anchors, const HardNegativesOptions& options) {
  const double beta = options.beta();
  const auto sums = anchors.sums.log_sums({{1 + beta}, {beta, options.detach_weights()}, {2 * beta, true}});  // the last is diagnostics
  const WeightedSum weighted = {sums[0], sums[1], beta, options.detach_weights()};
  AnchorLosses losses = estimate_losses({.log_sum = log_normalised(weighted, anchors.negatives),
                                         .mean_positive = anchors.mean_positive,
                                         .positive = anchors.positive,
                                         .negatives = anchors.negatives,
                                         .tau_plus = options.tau_plus(),
                                         .temperature = options.temperature(),
                                         .clamp = options.clamp(),
                                         .multiplier = 1 + 2 * beta});
  losses.effective_sample_size = effective_sample_size(sums[1], sums[2], anchors.negatives);
  return losses;
}

}  // namespace

const OptionTable<HardNegativesOptions>& HardNegativesOptions::table() {
  using Self = HardNegativesOptions;
  static const auto table =
      table_with_temperatures<Self>()
          .add("tau_plus", &Self::tau_plus_, class_prior_range(), "class prior: probability that two samples share a class")
          .add("beta", &Self::beta_, Range::at_least(0), "weight of a negative is e^{beta s}; 0: equal weights")
          .add("clamp", &Self::clamp_, "handling of an estimate below its floor e^{-1/t}")
          .add("detach_weights", &Self::detach_weights_, "no gradient through the weights")
          .with_variants();
  return table;
}

namespace {

ObjectiveResult computed(const ObjectiveInput& given, const HardNegativesOptions& options) {
  return mean_over_weighted_rows(checked_views(given, kHardNegativesName), options.temperature(), loss_scale(options), kHardNegativesName,
                                 [&](const ScoredAnchors& anchors) { return losses_of(anchors, options); });
}

ObjectiveResult on_scores(const Scores& scores, const HardNegativesOptions& options) {
  return mean_over_neighbours(std::get<NeighbourScores>(scores.of), NeighbourNegatives::kNegatives, options.temperature(),
                              loss_scale(options), [&](const ScoredAnchors& anchors) { return losses_of(anchors, options); });
}

std::string unfit_for(ScoreForm, const HardNegativesOptions& options) { return unfit_for_products(options.clamp()); }

}  // namespace

ObjectiveResult hard_negatives(const ObjectiveInput& input, const HardNegativesOptions& options) {
  return computed(input, verified(options, kHardNegativesName));
}

ObjectiveResult hard_negatives(const at::Tensor& z, const HardNegativesOptions& options) {
  return hard_negatives(ObjectiveInput{.z = z}, options);
}

ObjectiveEntry hard_negatives_entry() {
  ObjectiveEntry entry;
  entry.name = kHardNegativesName;
  entry.aliases = {"hcl"};
  entry.summary = "debiased negatives, each weighted by e^{beta s}: hard ones count for more (Robinson et al. 2021)";
  entry.min_views = 2;
  entry.takes_keys = true;
  return with_options<HardNegativesOptions>(std::move(entry), computed, {{ScoreForm::kNeighbours}, on_scores, unfit_for});
}

}  // namespace debias
