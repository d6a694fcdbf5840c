#include "debias/losses/debiased.h"

#include <ATen/ATen.h>

#include <cmath>

#include "debias/losses/bank_draws.h"
#include "debias/losses/neighbours.h"
#include "debias/losses/objective_entry.h"

namespace debias {
namespace {

constexpr double kPositiveFloor = 1e-30;

// N g in units of e^shift, which is the larger of the sum over negatives and the mean positive.
struct Scaled {
  at::Tensor shift;  // [rows]
  at::Tensor ng;     // [rows], of either sign
};

Scaled scaled(const Anchors& anchors, const at::Tensor& log_sum, double tau_plus) {
  const at::Tensor shift = at::maximum(log_sum, anchors.mean_positive).detach();
  const double share = tau_plus * static_cast<double>(anchors.negatives);
  return {shift, ((log_sum - shift).exp() - share * (anchors.mean_positive - shift).exp()) / (1 - tau_plus)};
}

// Without a clamp 1 + N g / p may be anything: its log where it is positive, else the anchor is dropped.
AnchorLosses unclamped(const Anchors& anchors, const Scaled& raw) {
  const at::Tensor total = raw.ng + (anchors.positive - raw.shift).exp();
  const at::Tensor positive = raw.ng.gt(0), used = positive.logical_or(total.gt(0));
  const at::Tensor above = log_one_plus_exp(raw.ng.where(positive, 1).log() + raw.shift - anchors.positive);
  const at::Tensor below = total.where(used.logical_and(positive.logical_not()), 1).log() + raw.shift - anchors.positive;
  return {.loss = above.where(positive, below).where(used, 0), .used = used};
}

AnchorLosses clamped(const Anchors& anchors, const at::Tensor& log_sum, const Scaled& raw, Clamp clamp, double multiplier) {
  const double log_n = std::log(static_cast<double>(anchors.negatives)), t = anchors.temperature;
  at::Tensor log_floor = at::full_like(raw.shift, log_n - 1 / t);
  if (clamp == Clamp::kPositive) log_floor = raw.shift + (log_n + std::log(kPositiveFloor));
  const double slack = anchors.exponential_slack(multiplier);
  const at::Tensor acts = raw.ng.lt((log_floor - raw.shift).exp() * (1 - slack)).logical_or(raw.ng.le(0));
  const at::Tensor substitute = clamp == Clamp::kFallback ? log_sum : log_floor;
  const at::Tensor log_ng = substitute.where(acts, raw.ng.where(acts.logical_not(), 1).log() + raw.shift);
  return {.loss = log_one_plus_exp(log_ng - anchors.positive), .clamped = LateNumber(acts.sum())};
}

}  // namespace

AnchorLosses negatives_estimate(const Anchors& anchors, const at::Tensor& log_sum, double tau_plus, Clamp clamp, double multiplier) {
  if (anchors.negatives == 0) return no_negatives(anchors.positive);
  const Scaled raw = scaled(anchors, log_sum, tau_plus);
  AnchorLosses losses = clamp == Clamp::kNone ? unclamped(anchors, raw) : clamped(anchors, log_sum, raw, clamp, multiplier);
  losses.min_estimate = smallest_estimate(raw.ng / static_cast<double>(anchors.negatives), raw.shift);
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

namespace {

// Of the options that both debiased losses have.
template <class Options>
BatchComparison compared(const ObjectiveInput& input, const Options& options, bool with_itself) {
  return {input,
          {.objective = Options::kName,
           .temperature = options.temperature,
           .aggregation = options.aggregation,
           .drop_false_negatives = options.drop_false_negatives,
           .with_itself = with_itself}};
}

template <class Options>
AnchorLosses negatives_losses(const Anchors& anchors, const Options& options) {
  return negatives_estimate(anchors, anchors.sum_of_kept(), options.tau_plus, options.clamp);
}

}  // namespace

ObjectiveResult DebiasedNegativesOptions::loss(const ObjectiveInput& input) const {
  return compared(input, *this, false).mean(loss_scale(*this), [&](const Anchors& anchors) { return negatives_losses(anchors, *this); });
}

ObjectiveResult DebiasedNegativesOptions::on_scores(const Scores& scores) const {
  const double t = temperature, scale = loss_scale(*this);
  if (const auto* draws = std::get_if<std::vector<BankDraws>>(&scores.of)) {
    if (tau_plus == 0) return sum_over_banks(*draws, t, scale, softmax_losses);
    return sum_over_banks(*draws, t, scale, [&](const at::Tensor& s) { return debiased_softmax_losses(s, tau_plus, t); });
  }
  return mean_over_neighbours(std::get<NeighbourScores>(scores.of), NeighbourNegatives::kNegatives, t, scale, [&](const Anchors& anchors) {
    return tau_plus == 0 ? biased_losses(anchors) : negatives_losses(anchors, *this);
  });
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

template <class Options>
Estimate estimate(const Anchors& anchors, const Options& options) {
  const double n = static_cast<double>(anchors.negatives), tau_minus = 1 - options.tau_plus;
  const bool means = options.form != PositiveForm::kSum;
  const at::Tensor shift = at::maximum(at::maximum(anchors.log_negatives, anchors.mean_positive), anchors.itself).detach();
  const at::Tensor own = (anchors.mean_positive - shift).exp() + (anchors.itself - shift).exp();
  const double p_weight = means ? 1 / (n + 2) : 1;
  const at::Tensor all = (anchors.log_negatives - shift).exp();
  if (!options.drop_false_negatives) {
    const double weight = means ? p_weight - tau_minus / n : options.tau_plus;
    return {shift, all * weight + own * p_weight, means ? anchors.log_negatives : anchors.log_negatives + std::log(n)};
  }
  const at::Tensor true_negatives = (anchors.log_kept - shift).exp();
  if (options.form == PositiveForm::kFinal) {
    const at::Tensor itself = (anchors.itself - shift).exp().masked_fill(anchors.labelled, 0);
    const at::Tensor mean = (true_negatives + (anchors.mean_positive - shift).exp() + itself) * p_weight;
    return {shift, mean - tau_minus * true_negatives / n, anchors.log_kept};
  }
  if (!means) return {shift, all + own - tau_minus * true_negatives, anchors.log_kept + std::log(n)};
  const at::Tensor kept = anchors.kept.clamp_min(1);
  return {shift, (all + own) * p_weight - tau_minus * true_negatives / kept, anchors.log_kept + (n / kept).log()};
}

template <class Options>
AnchorLosses positives_losses(const Anchors& anchors, const Options& options) {
  if (anchors.negatives == 0) return no_negatives(anchors.positive);
  const double t = anchors.temperature, log_tau_plus = std::log(options.tau_plus);
  const Estimate raw = estimate(anchors, options);
  AnchorLosses losses;
  losses.min_estimate = smallest_estimate(raw.numerator, raw.shift);

  const bool guarded = options.guard != Guard::kNone;
  at::Tensor acts = raw.numerator.le(0);
  if (guarded) {
    const at::Tensor floor = options.tau_plus * (-1 / t - raw.shift).exp();
    acts = acts.logical_or_(raw.numerator.lt(floor * (1 - anchors.exponential_slack())));
    losses.clamped = LateNumber(acts.sum());
  } else {
    losses.used = acts.logical_not();
  }
  const at::Tensor log_num = raw.numerator.where(acts.logical_not(), 1).log() + raw.shift;
  const at::Tensor log_ratio = raw.log_n_mean + log_tau_plus - log_num;
  // tau_plus cancels between the floor of num and N tau_plus P-.
  const at::Tensor substitute = options.guard == Guard::kFallback ? anchors.log_kept - anchors.positive : raw.log_n_mean + 1 / t;
  losses.loss = log_one_plus_exp(substitute.where(acts, log_ratio));
  return losses;
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

ObjectiveResult DebiasedPositivesOptions::loss(const ObjectiveInput& input) const {
  return compared(input, *this, true).mean(loss_scale(*this), [&](const Anchors& anchors) { return positives_losses(anchors, *this); });
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

ObjectiveResult CombinedDebiasedOptions::loss(const ObjectiveInput& input) const {
  const BatchComparison batch = compared(input, *this, true);
  const auto negatives = [&] {
    return batch.mean(loss_scale(*this), [&](const Anchors& anchors) { return negatives_losses(anchors, *this); });
  };
  const auto positives = [&] {
    return batch.mean(loss_scale(*this), [&](const Anchors& anchors) { return positives_losses(anchors, *this); });
  };
  if (mix == 1) return negatives();
  if (mix == 0) return positives();
  return mixed(negatives(), positives(), mix);
}

}  // namespace debias
