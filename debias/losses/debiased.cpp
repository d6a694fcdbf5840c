#include "debias/losses/debiased.h"

#include <ATen/ATen.h>

#include <cmath>

#include "debias/losses/objective_entry.h"
#include "debias/losses/scores/draws.h"
#include "debias/losses/scores/neighbours.h"
#include "debias/losses/two_view.h"

namespace debias {
namespace {

constexpr double kPositiveFloor = 1e-30;

// N g in units of e^shift, which is the larger of the sum over negatives and the mean positive.
struct Scaled {
  at::Tensor shift;  // [rows]
  at::Tensor ng;     // [rows], of either sign
};

Scaled scaled(const NegativesEstimate& given) {
  const at::Tensor shift = at::maximum(given.log_sum, given.mean_positive).detach();
  const double share = given.tau_plus * static_cast<double>(given.negatives);
  return {shift, ((given.log_sum - shift).exp() - share * (given.mean_positive - shift).exp()) / (1 - given.tau_plus)};
}

// Without a clamp 1 + N g / p may be anything: its log where it is positive, else the anchor is dropped.
AnchorLosses unclamped(const NegativesEstimate& given, const Scaled& raw) {
  const at::Tensor total = raw.ng + (given.positive - raw.shift).exp();
  const at::Tensor positive = raw.ng.gt(0), used = positive.logical_or(total.gt(0));
  const at::Tensor above = log_one_plus_exp(raw.ng.where(positive, 1).log() + raw.shift - given.positive);
  const at::Tensor below = total.where(used.logical_and(positive.logical_not()), 1).log() + raw.shift - given.positive;
  return {.loss = above.where(positive, below).where(used, 0), .used = used, .clamped = 0, .min_estimate = {}};
}

AnchorLosses clamped(const NegativesEstimate& given, const Scaled& raw) {
  const double log_n = std::log(static_cast<double>(given.negatives)), t = given.temperature;
  at::Tensor log_floor = at::full_like(raw.shift, log_n - 1 / t);
  if (given.clamp == Clamp::kPositive) log_floor = raw.shift + (log_n + std::log(kPositiveFloor));
  const double slack = exponential_slack(raw.shift, t / given.multiplier);
  const at::Tensor acts = raw.ng.lt((log_floor - raw.shift).exp() * (1 - slack)).logical_or(raw.ng.le(0));
  const at::Tensor substitute = given.clamp == Clamp::kFallback ? given.log_sum : log_floor;
  const at::Tensor log_ng = substitute.where(acts, raw.ng.where(acts.logical_not(), 1).log() + raw.shift);
  return {.loss = log_one_plus_exp(log_ng - given.positive), .used = {}, .clamped = LateNumber(acts.sum()), .min_estimate = {}};
}

}  // namespace

AnchorLosses estimate_losses(const NegativesEstimate& given) {
  if (given.negatives == 0) return no_negatives(given.positive);
  const Scaled raw = scaled(given);
  AnchorLosses losses = given.clamp == Clamp::kNone ? unclamped(given, raw) : clamped(given, raw);
  losses.min_estimate = smallest_estimate(raw.ng / static_cast<double>(given.negatives), raw.shift);
  return losses;
}

void DebiasedNegativesOptions::describe(OptionVisitor& o) {
  describe_temperatures(o, temperature, base_temperature);
  o("tau_plus", tau_plus, class_prior_range(), "class prior: probability that two samples share a class");
  o("clamp", clamp, "handling of an estimate below its floor e^{-1/t}");
  o("aggregation", aggregation, "use of more than two views: as further positives, or averaged over all pairs of views");
  o("drop_false_negatives", drop_false_negatives, "negatives of the anchor's class count as zero (needs labels)");
  o.with_variants();
}

AnchorLosses debiased_negatives_losses(const TwoViewSums& sums, const DebiasedNegativesOptions& options) {
  return estimate_losses({.log_sum = sums.log_kept,
                          .mean_positive = sums.mean_positive,
                          .positive = sums.positive,
                          .negatives = sums.negatives,
                          .tau_plus = options.tau_plus,
                          .temperature = options.temperature,
                          .clamp = options.clamp});
}

ObjectiveResult DebiasedNegativesOptions::loss(const ObjectiveInput& input) const {
  const AggregatedViews views(checked_views(input, kName), {aggregation, temperature, drop_false_negatives}, kName);
  return views.mean(loss_scale(*this), [&](const TwoViewSums& sums) { return debiased_negatives_losses(sums, *this); });
}

namespace {

AnchorLosses losses_of(const ScoredAnchors& anchors, const DebiasedNegativesOptions& options) {
  if (options.tau_plus == 0) return biased_losses(anchors);
  return estimate_losses({.log_sum = anchors.sums.log_sums({{}})[0],
                          .mean_positive = anchors.mean_positive,
                          .positive = anchors.positive,
                          .negatives = anchors.negatives,
                          .tau_plus = options.tau_plus,
                          .temperature = options.temperature,
                          .clamp = options.clamp});
}

}  // namespace

ObjectiveResult DebiasedNegativesOptions::on_scores(const Scores& scores) const {
  const double t = temperature, scale = loss_scale(*this);
  if (const auto* draws = std::get_if<std::vector<BankDraws>>(&scores.of)) {
    if (tau_plus == 0) return sum_over_banks(*draws, t, scale, softmax_losses);
    return sum_over_banks(*draws, t, scale, [&](const at::Tensor& s) { return debiased_softmax_losses(s, tau_plus, t); });
  }
  return mean_over_neighbours(std::get<NeighbourScores>(scores.of), NeighbourNegatives::kNegatives, t, scale,
                              [&](const ScoredAnchors& anchors) { return losses_of(anchors, *this); });
}

std::string DebiasedNegativesOptions::unfit_for(ScoreForm form) const {
  if (form == ScoreForm::kDraws) {
    if (clamp == Clamp::kFallback) return unfit_for_draws(temperature, drop_false_negatives);
    return fmt::format("clamp: draws from a bank take fallback, found {}", enum_name(clamp));
  }
  if (drop_false_negatives) return kDropsWithoutLabels;
  if (aggregation != Aggregation::kGrouping) return "aggregation: sentences have no views to average; leave it out";
  return unfit_for_products(clamp);
}

namespace {

struct Estimate {
  at::Tensor shift;       // [2B] the largest of the logs that enter
  at::Tensor numerator;   // [2B] num in units of e^shift
  at::Tensor log_n_mean;  // [2B] log of N P-
};

Estimate estimate(const TwoViewSums& sums, const DebiasedPositivesOptions& options) {
  const double n = static_cast<double>(sums.negatives), tau_minus = 1 - options.tau_plus;
  const bool means = options.form != PositiveForm::kSum;
  const at::Tensor shift = at::maximum(at::maximum(sums.log_negatives, sums.mean_positive), sums.self).detach();
  const at::Tensor own = (sums.mean_positive - shift).exp() + (sums.self - shift).exp();
  const at::Tensor kept = sums.kept.clamp_min(1);
  const double p_weight = means ? 1 / (n + 2) : 1;
  const at::Tensor all = (sums.log_negatives - shift).exp();
  if (!options.drop_false_negatives) {
    const double weight = means ? p_weight - tau_minus / n : options.tau_plus;
    return {shift, all * weight + own * p_weight, means ? sums.log_negatives : sums.log_negatives + std::log(n)};
  }
  const at::Tensor true_negatives = (sums.log_kept - shift).exp();
  if (options.form == PositiveForm::kFinal) {
    const at::Tensor self = (sums.self - shift).exp().masked_fill(sums.labelled, 0);
    const at::Tensor mean = (true_negatives + (sums.mean_positive - shift).exp() + self) * p_weight;
    return {shift, mean - tau_minus * true_negatives / n, sums.log_kept};
  }
  if (!means) return {shift, all + own - tau_minus * true_negatives, sums.log_kept + std::log(n)};
  return {shift, (all + own) * p_weight - tau_minus * true_negatives / kept, sums.log_kept + (n / kept).log()};
}

}  // namespace

void DebiasedPositivesOptions::describe(OptionVisitor& o) {
  describe_temperatures(o, temperature, base_temperature);
  o("tau_plus", tau_plus, class_prior_range(), "class prior: probability that two samples share a class");
  o("form", form, "means as in eq. 12, sums as behind the paper's figures, or the last version of its code");
  o("guard", guard, "handling of a numerator below its minimum tau_plus e^{-1/t}");
  o("aggregation", aggregation, "use of more than two views: as further positives, or averaged over all pairs of views");
  o("drop_false_negatives", drop_false_negatives,
    "average negatives over other classes only (needs labels); P keeps all of them, so the loss is supervised except with form "
    "final");
  o.with_variants();
  o.variant("paper", "guard", "none");
  o.variant("authors", "form", "sum");
  o.variant("authors", "guard", "none");
}

AnchorLosses debiased_positives_losses(const TwoViewSums& sums, const DebiasedPositivesOptions& options) {
  if (sums.negatives == 0) return no_negatives(sums.positive);
  const double t = options.temperature, log_tau_plus = std::log(options.tau_plus);
  const Estimate raw = estimate(sums, options);
  AnchorLosses losses;
  losses.min_estimate = smallest_estimate(raw.numerator, raw.shift);

  const bool guarded = options.guard != Guard::kNone;
  at::Tensor acts = raw.numerator.le(0);
  if (guarded) {
    const at::Tensor floor = options.tau_plus * (-1 / t - raw.shift).exp();
    acts = acts.logical_or_(raw.numerator.lt(floor * (1 - exponential_slack(floor, t))));
    losses.clamped = LateNumber(acts.sum());
  } else {
    losses.used = acts.logical_not();
  }
  const at::Tensor log_num = raw.numerator.where(acts.logical_not(), 1).log() + raw.shift;
  const at::Tensor log_ratio = raw.log_n_mean + log_tau_plus - log_num;
  // tau_plus cancels between the floor of num and N tau_plus P-.
  const at::Tensor substitute = options.guard == Guard::kFallback ? sums.log_kept - sums.positive : raw.log_n_mean + 1 / t;
  losses.loss = log_one_plus_exp(substitute.where(acts, log_ratio));
  return losses;
}

ObjectiveResult DebiasedPositivesOptions::loss(const ObjectiveInput& input) const {
  const AggregatedViews views(checked_views(input, kName), {aggregation, temperature, drop_false_negatives, true}, kName);
  return views.mean(loss_scale(*this), [&](const TwoViewSums& sums) { return debiased_positives_losses(sums, *this); });
}

namespace {

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

void CombinedDebiasedOptions::describe(OptionVisitor& o) {
  describe_temperatures(o, temperature, base_temperature);
  o("mix", mix, Range::closed(0, 1), "share of debiased_negatives; the rest is debiased_positives");
  o("tau_plus", tau_plus, class_prior_range(), "class prior: probability that two samples share a class");
  o("clamp", clamp, "handling of an estimate of debiased_negatives below its floor e^{-1/t}");
  o("form", form, "form of debiased_positives: means as in eq. 12, sums as behind the paper's figures, or the last version of its code");
  o("guard", guard, "handling of a numerator of debiased_positives below tau_plus e^{-1/t}");
  o("aggregation", aggregation, "use of more than two views: as further positives, or averaged over all pairs of views");
  o("drop_false_negatives", drop_false_negatives, "leave out negatives of the anchor's class (needs labels)");
  o.with_variants();
  o.variant("paper", "guard", "none");
  o.variant("authors", "form", "sum");
  o.variant("authors", "guard", "none");
}

DebiasedNegativesOptions CombinedDebiasedOptions::negatives_part() const {
  return DebiasedNegativesOptions{.temperature = temperature,
                                  .base_temperature = base_temperature,
                                  .tau_plus = tau_plus,
                                  .clamp = clamp,
                                  .aggregation = aggregation,
                                  .drop_false_negatives = drop_false_negatives};
}

DebiasedPositivesOptions CombinedDebiasedOptions::positives_part() const {
  return DebiasedPositivesOptions{.temperature = temperature,
                                  .base_temperature = base_temperature,
                                  .tau_plus = tau_plus,
                                  .form = form,
                                  .guard = guard,
                                  .aggregation = aggregation,
                                  .drop_false_negatives = drop_false_negatives};
}

ObjectiveResult CombinedDebiasedOptions::loss(const ObjectiveInput& input) const {
  const AggregatedViews views(checked_views(input, kName), {aggregation, temperature, drop_false_negatives, true}, kName);
  const auto negatives = [&] {
    return views.mean(loss_scale(*this),
                      [part = negatives_part()](const TwoViewSums& sums) { return debiased_negatives_losses(sums, part); });
  };
  const auto positives = [&] {
    return views.mean(loss_scale(*this),
                      [part = positives_part()](const TwoViewSums& sums) { return debiased_positives_losses(sums, part); });
  };
  if (mix == 1) return negatives();
  if (mix == 0) return positives();
  return mixed(negatives(), positives(), mix);
}

}  // namespace debias
