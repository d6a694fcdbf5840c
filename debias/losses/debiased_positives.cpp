#include "debias/losses/debiased_positives.h"

#include <ATen/ATen.h>

#include <cmath>

#include "debias/losses/objective_entry.h"
#include "debias/losses/temperature_options.h"

namespace debias {
namespace {

constexpr char kDebiasedPositivesName[] = "debiased_positives";

struct Estimate {
  at::Tensor shift;       // [2B] the largest of the logs that enter
  at::Tensor numerator;   // [2B] num in units of e^shift
  at::Tensor log_n_mean;  // [2B] log of N P-
};

Estimate estimate(const TwoViewSums& sums, const DebiasedPositivesOptions& options) {
  const double n = static_cast<double>(sums.negatives), tau_minus = 1 - options.tau_plus();
  const bool means = options.form() != PositiveForm::kSum;
  const at::Tensor shift = at::maximum(at::maximum(sums.log_negatives, sums.mean_positive), sums.self).detach();
  const at::Tensor own = (sums.mean_positive - shift).exp() + (sums.self - shift).exp();
  const at::Tensor kept = sums.kept.clamp_min(1);
  const double p_weight = means ? 1 / (n + 2) : 1;
  const at::Tensor all = (sums.log_negatives - shift).exp();
  if (!options.drop_false_negatives()) {
    const double weight = means ? p_weight - tau_minus / n : options.tau_plus();
    return {shift, all * weight + own * p_weight, means ? sums.log_negatives : sums.log_negatives + std::log(n)};
  }
  const at::Tensor true_negatives = (sums.log_kept - shift).exp();
  if (options.form() == PositiveForm::kFinal) {
    const at::Tensor self = (sums.self - shift).exp().masked_fill(sums.labelled, 0);
    const at::Tensor mean = (true_negatives + (sums.mean_positive - shift).exp() + self) * p_weight;
    return {shift, mean - tau_minus * true_negatives / n, sums.log_kept};
  }
  if (!means) return {shift, all + own - tau_minus * true_negatives, sums.log_kept + std::log(n)};
  return {shift, (all + own) * p_weight - tau_minus * true_negatives / kept, sums.log_kept + (n / kept).log()};
}

}  // namespace

const OptionTable<DebiasedPositivesOptions>& DebiasedPositivesOptions::table() {
  using Self = DebiasedPositivesOptions;
  static const auto table =
      table_with_temperatures<Self>()
          .add("tau_plus", &Self::tau_plus_, class_prior_range(), "class prior: probability that two samples share a class")
          .add("form", &Self::form_, "means as in eq. 12, sums as behind the paper's figures, or the last version of its code")
          .add("guard", &Self::guard_, "handling of a numerator below its minimum tau_plus e^{-1/t}")
          .add("aggregation", &Self::aggregation_, "use of more than two views: as further positives, or averaged over all pairs of views")
          .add("drop_false_negatives", &Self::drop_false_negatives_,
               "average negatives over other classes only (needs labels); P keeps all of them, so the loss is supervised except with form "
               "final")
          .with_variants()
          .variant("paper", "guard", "none")
          .variant("authors", "form", "sum")
          .variant("authors", "guard", "none");
  return table;
}

AnchorLosses debiased_positives_losses(const TwoViewSums& sums, const DebiasedPositivesOptions& options) {
  if (sums.negatives == 0) return no_negatives(sums.positive);
  const double t = options.temperature(), log_tau_plus = std::log(options.tau_plus());
  const Estimate raw = estimate(sums, options);
  AnchorLosses losses;
  losses.min_estimate = smallest_estimate(raw.numerator, raw.shift);

  const bool guarded = options.guard() != Guard::kNone;
  at::Tensor acts = raw.numerator.le(0);
  if (guarded) {
    const at::Tensor floor = options.tau_plus() * (-1 / t - raw.shift).exp();
    acts = acts.logical_or_(raw.numerator.lt(floor * (1 - exponential_slack(floor, t))));
    losses.clamped = LateNumber(acts.sum());
  } else {
    losses.used = acts.logical_not();
  }
  const at::Tensor log_num = raw.numerator.where(acts.logical_not(), 1).log() + raw.shift;
  const at::Tensor log_ratio = raw.log_n_mean + log_tau_plus - log_num;
  // tau_plus cancels between the floor of num and N tau_plus P-.
  const at::Tensor substitute = options.guard() == Guard::kFallback ? sums.log_kept - sums.positive : raw.log_n_mean + 1 / t;
  losses.loss = log_one_plus_exp(substitute.where(acts, log_ratio));
  return losses;
}

namespace {

ObjectiveResult computed(const ObjectiveInput& input, const DebiasedPositivesOptions& options) {
  const AggregatedViews views(checked_views(input, kDebiasedPositivesName),
                              {options.aggregation(), options.temperature(), options.drop_false_negatives(), true}, kDebiasedPositivesName);
  return views.mean(loss_scale(options), [&](const TwoViewSums& sums) { return debiased_positives_losses(sums, options); });
}

}  // namespace

ObjectiveResult debiased_positives(const ObjectiveInput& input, const DebiasedPositivesOptions& options) {
  return computed(input, verified(options, kDebiasedPositivesName));
}

ObjectiveResult debiased_positives(const at::Tensor& z, const DebiasedPositivesOptions& options, const at::Tensor& labels) {
  return debiased_positives(ObjectiveInput{.z = z, .labels = labels}, options);
}

ObjectiveEntry debiased_positives_entry() {
  ObjectiveEntry entry;
  entry.name = kDebiasedPositivesName;
  entry.aliases = {};
  entry.summary =
      "InfoNCE with the positive term corrected by tau_plus and the mean over negatives (Mitigating Biases in Contrastive Learning eq. 12)";
  entry.min_views = 2;
  entry.takes_keys = true;
  return with_options<DebiasedPositivesOptions>(std::move(entry), computed);
}

}  // namespace debias
