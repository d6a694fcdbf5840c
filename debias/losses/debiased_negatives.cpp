#include "debias/losses/debiased_negatives.h"

#include "debias/losses/objective_entry.h"
#include "debias/losses/temperature_options.h"

namespace debias {
namespace {

constexpr char kDebiasedNegativesName[] = "debiased_negatives";

}  // namespace

const OptionTable<DebiasedNegativesOptions>& DebiasedNegativesOptions::table() {
  using Self = DebiasedNegativesOptions;
  static const auto table =
      table_with_temperatures<Self>()
          .add("tau_plus", &Self::tau_plus_, class_prior_range(), "chance that two samples share a class")
          .add("clamp", &Self::clamp_, "what becomes of an estimate below its floor e^{-1/t}")
          .add("aggregation", &Self::aggregation_, "of more than two views: further positives, or all pairs of views averaged")
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
  return with_options<DebiasedNegativesOptions>(std::move(entry), computed);
}

}  // namespace debias
