#include "debias/losses/negatives_estimate.h"

#include <ATen/ATen.h>

#include <cmath>

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

}  // namespace debias
