#include "debias/losses/debiased_negatives.h"

#include "debias/losses/objective_entry.h"
#include "debias/losses/scores/draws.h"
#include "debias/losses/scores/neighbours.h"
#include "debias/losses/temperature_options.h"

namespace debias {
namespace {

constexpr char kDebiasedNegativesName[] = "debiased_negatives";

}  // namespace

const OptionTable<DebiasedNegativesOptions>& DebiasedNegativesOptions::table() {
  using Self = DebiasedNegativesOptions;
  static const auto table =
      table_with_temperatures<Self>()
          .add("tau_plus", &Self::tau_plus_, class_prior_range(), "class prior: probability that two samples share a class")
          .add("clamp", &Self::clamp_, "handling of an estimate below its floor e^{-1/t}")
          .add("aggregation", &Self::aggregation_, "use of more than two views: as further positives, or averaged over all pairs of views")
          .add("drop_false_negatives", &Self::drop_false_negatives_, "negatives of the anchor's class count as zero (needs labels)")
          .with_variants();
  return table;
}

AnchorLosses debiased_negatives_losses(const TwoViewSums& sums, const DebiasedNegativesOptions& options) {
  return estimate_losses({.log_sum = sums.log_kept,
                          .mean_positive = sums.mean_positive,
                          .positive = sums.positive,
                          .negatives = sums.negatives,
                          .tau_plus = options.tau_plus(),
                          .temperature = options.temperature(),
                          .clamp = options.clamp()});
}

namespace {

ObjectiveResult computed(const ObjectiveInput& input, const DebiasedNegativesOptions& options) {
  const AggregatedViews views(checked_views(input, kDebiasedNegativesName),
                              {options.aggregation(), options.temperature(), options.drop_false_negatives()}, kDebiasedNegativesName);
  return views.mean(loss_scale(options), [&](const TwoViewSums& sums) { return debiased_negatives_losses(sums, options); });
}

AnchorLosses losses_of(const ScoredAnchors& anchors, const DebiasedNegativesOptions& options) {
  if (options.tau_plus() == 0) return biased_losses(anchors);
  return estimate_losses({.log_sum = anchors.sums.log_sums({{}})[0],
                          .mean_positive = anchors.mean_positive,
                          .positive = anchors.positive,
                          .negatives = anchors.negatives,
                          .tau_plus = options.tau_plus(),
                          .temperature = options.temperature(),
                          .clamp = options.clamp()});
}

ObjectiveResult on_scores(const Scores& scores, const DebiasedNegativesOptions& options) {
  const double t = options.temperature(), scale = loss_scale(options);
  if (const auto* draws = std::get_if<std::vector<BankDraws>>(&scores.of)) {
    if (options.tau_plus() == 0) return sum_over_banks(*draws, t, scale, softmax_losses);
    return sum_over_banks(*draws, t, scale, [&](const at::Tensor& s) { return debiased_softmax_losses(s, options.tau_plus(), t); });
  }
  return mean_over_neighbours(std::get<NeighbourScores>(scores.of), NeighbourNegatives::kNegatives, t, scale,
                              [&](const ScoredAnchors& anchors) { return losses_of(anchors, options); });
}

std::string unfit_for(ScoreForm form, const DebiasedNegativesOptions& options) {
  if (form == ScoreForm::kDraws) {
    if (options.clamp() == Clamp::kFallback) return unfit_for_draws(options.temperature(), options.drop_false_negatives());
    return fmt::format("clamp: draws from a bank take fallback, found {}", enum_name(options.clamp()));
  }
  if (options.drop_false_negatives()) return kDropsWithoutLabels;
  if (options.aggregation() != Aggregation::kGrouping) return "aggregation: sentences have no views to average; leave it out";
  return unfit_for_products(options.clamp());
}

}  // namespace

ObjectiveResult debiased_negatives(const ObjectiveInput& input, const DebiasedNegativesOptions& options) {
  return computed(input, verified(options, kDebiasedNegativesName));
}

ObjectiveResult debiased_negatives(const at::Tensor& z, const DebiasedNegativesOptions& options, const at::Tensor& labels) {
  return debiased_negatives(ObjectiveInput{.z = z, .labels = labels}, options);
}

ObjectiveEntry debiased_negatives_entry() {
  ObjectiveEntry entry;
  entry.name = kDebiasedNegativesName;
  entry.aliases = {"debiased"};
  entry.summary = "InfoNCE with the negatives' sum corrected for same-class samples by tau_plus (Chuang et al. 2020 eq. 8)";
  entry.min_views = 2;
  entry.takes_keys = true;
  return with_options<DebiasedNegativesOptions>(std::move(entry), computed,
                                                {{ScoreForm::kDraws, ScoreForm::kNeighbours}, on_scores, unfit_for});
}

}  // namespace debias
