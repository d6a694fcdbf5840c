#include "debias/losses/combined_debiased.h"

#include <ATen/ATen.h>

#include "debias/losses/objective_entry.h"
#include "debias/losses/temperature_options.h"

namespace debias {
namespace {

constexpr char kCombinedDebiasedName[] = "combined_debiased";

// Both results are of the same anchors. Without negatives neither has an estimate.
ObjectiveResult mixed(const ObjectiveResult& a, const ObjectiveResult& b, double share) {
  ObjectiveResult result;
  result.value = share * a.value + (1 - share) * b.value;
  result.per_anchor = share * a.per_anchor + (1 - share) * b.per_anchor;
  result.anchors = a.anchors;
  result.anchors_used = LateNumber(result.per_anchor.isnan().logical_not().sum());
  result.clamped = a.clamped;
  result.clamped += b.clamped;
  result.clampable = a.clamped_of() + b.clamped_of();
  if (a.min_estimate && b.min_estimate) result.min_estimate = LateNumber::lesser(*a.min_estimate, *b.min_estimate);
  result.engine = a.engine;
  return result;
}

}  // namespace

const OptionTable<CombinedDebiasedOptions>& CombinedDebiasedOptions::table() {
  using Self = CombinedDebiasedOptions;
  static const auto table =
      table_with_temperatures<Self>()
          .add("mix", &Self::mix_, Range::closed(0, 1), "share of debiased_negatives; the rest is debiased_positives")
          .add("tau_plus", &Self::tau_plus_, class_prior_range(), "class prior: probability that two samples share a class")
          .add("clamp", &Self::clamp_, "handling of an estimate of debiased_negatives below its floor e^{-1/t}")
          .add("form", &Self::form_,
               "form of debiased_positives: means as in eq. 12, sums as behind the paper's figures, or the last version of its code")
          .add("guard", &Self::guard_, "handling of a numerator of debiased_positives below tau_plus e^{-1/t}")
          .add("aggregation", &Self::aggregation_, "use of more than two views: as further positives, or averaged over all pairs of views")
          .add("drop_false_negatives", &Self::drop_false_negatives_, "leave out negatives of the anchor's class (needs labels)")
          .with_variants()
          .variant("paper", "guard", "none")
          .variant("authors", "form", "sum")
          .variant("authors", "guard", "none");
  return table;
}

DebiasedNegativesOptions CombinedDebiasedOptions::negatives_part() const {
  return DebiasedNegativesOptions()
      .temperature(temperature_)
      .base_temperature(base_temperature_)
      .tau_plus(tau_plus_)
      .clamp(clamp_)
      .aggregation(aggregation_)
      .drop_false_negatives(drop_false_negatives_);
}

DebiasedPositivesOptions CombinedDebiasedOptions::positives_part() const {
  return DebiasedPositivesOptions()
      .temperature(temperature_)
      .base_temperature(base_temperature_)
      .tau_plus(tau_plus_)
      .form(form_)
      .guard(guard_)
      .aggregation(aggregation_)
      .drop_false_negatives(drop_false_negatives_);
}

namespace {

ObjectiveResult computed(const ObjectiveInput& input, const CombinedDebiasedOptions& options) {
  const AggregatedViews views(checked_views(input, kCombinedDebiasedName),
                              {options.aggregation(), options.temperature(), options.drop_false_negatives(), true}, kCombinedDebiasedName);
  const auto negatives = [&] {
    return views.mean(loss_scale(options),
                      [part = options.negatives_part()](const TwoViewSums& sums) { return debiased_negatives_losses(sums, part); });
  };
  const auto positives = [&] {
    return views.mean(loss_scale(options),
                      [part = options.positives_part()](const TwoViewSums& sums) { return debiased_positives_losses(sums, part); });
  };
  if (options.mix() == 1) return negatives();
  if (options.mix() == 0) return positives();
  return mixed(negatives(), positives(), options.mix());
}

}  // namespace

ObjectiveResult combined_debiased(const ObjectiveInput& input, const CombinedDebiasedOptions& options) {
  return computed(input, verified(options, kCombinedDebiasedName));
}

ObjectiveResult combined_debiased(const at::Tensor& z, const CombinedDebiasedOptions& options, const at::Tensor& labels) {
  return combined_debiased(ObjectiveInput{.z = z, .labels = labels}, options);
}

ObjectiveEntry combined_debiased_entry() {
  ObjectiveEntry entry;
  entry.name = kCombinedDebiasedName;
  entry.summary = "a mixture of debiased_negatives and debiased_positives (released code of Mitigating Biases in Contrastive Learning)";
  entry.min_views = 2;
  entry.takes_keys = true;
  return with_options<CombinedDebiasedOptions>(std::move(entry), computed);
}

}  // namespace debias
