#include "debias/losses/debiased_negatives.h"

#include <ATen/ATen.h>

#include <cmath>

#include "debias/losses/anchor_losses.h"
#include "debias/losses/objective_entry.h"
#include "debias/losses/temperature_options.h"
#include "debias/losses/two_view.h"

namespace debias {
namespace {

constexpr char kName[] = "debiased_negatives";
constexpr double kPositiveFloor = 1e-30;

// N g in units of e^shift, which is the larger of the sum over negatives and the mean positive.
struct Estimate {
  at::Tensor shift;   // [2B]
  at::Tensor scaled;  // [2B], of either sign
};

Estimate estimate(const TwoViewSums& sums, double tau_plus) {
  const at::Tensor shift = at::maximum(sums.log_kept, sums.mean_positive).detach();
  const double share = tau_plus * static_cast<double>(sums.negatives);
  return {shift, ((sums.log_kept - shift).exp() - share * (sums.mean_positive - shift).exp()) / (1 - tau_plus)};
}

// Without a clamp 1 + N g / p may be anything: its log where it is positive, else the anchor is dropped.
AnchorLosses unclamped(const TwoViewSums& sums, const Estimate& raw) {
  const at::Tensor total = raw.scaled + (sums.positive - raw.shift).exp();
  const at::Tensor positive = raw.scaled.gt(0), used = positive.logical_or(total.gt(0));
  const at::Tensor above = log_one_plus_exp(raw.scaled.where(positive, 1).log() + raw.shift - sums.positive);
  const at::Tensor below = total.where(used.logical_and(positive.logical_not()), 1).log() + raw.shift - sums.positive;
  return {.loss = above.where(positive, below).where(used, 0), .used = used, .clamped = 0, .min_estimate = {}};
}

AnchorLosses clamped(const TwoViewSums& sums, const Estimate& raw, const DebiasedNegativesOptions& options) {
  const double log_n = std::log(static_cast<double>(sums.negatives)), t = options.temperature();
  at::Tensor log_floor = at::full_like(raw.shift, log_n - 1 / t);
  if (options.clamp() == Clamp::kPositive) log_floor = raw.shift + (log_n + std::log(kPositiveFloor));
  const at::Tensor acts = raw.scaled.lt((log_floor - raw.shift).exp() * (1 - exponential_slack(raw.shift, t))).logical_or(raw.scaled.le(0));
  const at::Tensor substitute = options.clamp() == Clamp::kFallback ? sums.log_kept : log_floor;
  const at::Tensor log_ng = substitute.where(acts, raw.scaled.where(acts.logical_not(), 1).log() + raw.shift);
  return {.loss = log_one_plus_exp(log_ng - sums.positive), .used = {}, .clamped = acts.sum().item<int64_t>(), .min_estimate = {}};
}

AnchorLosses losses_of(const TwoViewSums& sums, const DebiasedNegativesOptions& options) {
  if (sums.negatives == 0) return no_negatives(sums.positive);
  const Estimate raw = estimate(sums, options.tau_plus());
  AnchorLosses losses = options.clamp() == Clamp::kNone ? unclamped(sums, raw) : clamped(sums, raw, options);
  losses.min_estimate = smallest_estimate(raw.scaled / static_cast<double>(sums.negatives), raw.shift);
  return losses;
}

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

ObjectiveResult debiased_negatives(const ObjectiveInput& given, const DebiasedNegativesOptions& options) {
  DebiasedNegativesOptions::table().verify(options, kName);
  const ObjectiveInput input = checked_views(given, kName);
  if (options.drop_false_negatives()) require_labels(input, kName, "drop_false_negatives");
  const bool grouping = options.aggregation() == Aggregation::kGrouping;
  const auto pair_losses = [&](int64_t first, int64_t second) {
    const TwoViewRequest request = {.first = first,
                                    .second = second,
                                    .temperature = options.temperature(),
                                    .drop_false_negatives = options.drop_false_negatives(),
                                    .group_positives = grouping && input.z.size(1) > 2};
    return losses_of(two_view_sums(input, request, kName), options);
  };
  if (grouping) return mean_over_anchors(pair_losses(0, 1), loss_scale(options));
  return mean_over_view_pairs(input, loss_scale(options), pair_losses);
}

ObjectiveResult debiased_negatives(const at::Tensor& z, const DebiasedNegativesOptions& options, const at::Tensor& labels) {
  return debiased_negatives(ObjectiveInput{.z = z, .labels = labels}, options);
}

ObjectiveEntry debiased_negatives_entry() {
  ObjectiveEntry entry;
  entry.name = kName;
  entry.aliases = {"debiased"};
  entry.summary = "InfoNCE with the negatives' sum corrected for same-class samples by tau_plus (Chuang et al. 2020 eq. 8)";
  entry.min_views = 2;
  return with_options<DebiasedNegativesOptions>(std::move(entry), debiased_negatives);
}

}  // namespace debias
