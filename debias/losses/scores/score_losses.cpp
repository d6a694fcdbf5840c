#include "debias/losses/scores/score_losses.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>

#include "debias/core/error.h"

namespace debias {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

constexpr double kNceEpsilon = 1e-7;

at::Tensor negatives_of(const at::Tensor& scores) { return scores.narrow(1, 1, scores.size(1) - 1); }

// Slopes of the negatives, of which column 0 is not one, become the gradient.
at::Tensor with_positive(at::Tensor slopes, const at::Tensor& sum_grad, const at::Tensor& positive_grad) {
  slopes.mul_(sum_grad.unsqueeze(1));
  slopes.select(1, 0).copy_(positive_grad);
  return slopes;
}

// The two numbers of an anchor: its positive score, and the log of the sum of e^s over its negatives.
class LogNegatives : public Function<LogNegatives> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& scores) {
    const at::Tensor log_sum = at::logsumexp(negatives_of(scores), 1);
    context->save_for_backward({scores, log_sum});
    return {scores.select(1, 0).clone(), log_sum};
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    return {with_positive((saved[0] - saved[1].unsqueeze(1)).exp_(), grads[1], grads[0])};
  }
};

// The positive score, and the sum over negatives of log(1 + (P + epsilon) / noise), P = e^s / normaliser.
class NceSums : public Function<NceSums> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& scores, double normaliser, double noise) {
    context->save_for_backward({scores});
    context->saved_data["normaliser"] = normaliser;
    context->saved_data["noise"] = noise;
    const at::Tensor ratio = (negatives_of(scores) - std::log(normaliser * noise)).exp_().add_(kNceEpsilon / noise);
    return {scores.select(1, 0).clone(), ratio.log1p_().sum(1)};
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const double normaliser = context->saved_data["normaliser"].toDouble(), noise = context->saved_data["noise"].toDouble();
    const at::Tensor p = (context->get_saved_variables()[0] - std::log(normaliser)).exp_();
    return {with_positive(p / (p + (noise + kNceEpsilon)), grads[1], grads[0]), {}, {}};
  }
};

void check_scores(const at::Tensor& scores) {
  if (scores.dim() != 2 || scores.size(0) < 1 || scores.size(1) < 2) {
    throw data_error("losses on scores: expected [anchors, 1 + negatives] with at least one of each, found {} dimensions of {} numbers",
                     scores.dim(), scores.numel());
  }
}

struct Anchors {
  at::Tensor positive, log_negatives;  // [B] in double
};

Anchors anchors_of(const at::Tensor& scores) {
  check_scores(scores);
  const variable_list sums = LogNegatives::apply(scores);
  return {sums[0].to(at::kDouble), sums[1].to(at::kDouble)};
}

// log(1 + e^{log_negatives - positive})
at::Tensor loss_against(const at::Tensor& log_negatives, const at::Tensor& positive) {
  return at::logaddexp(log_negatives - positive, at::zeros_like(positive));
}

}  // namespace

ScoreLosses softmax_losses(const at::Tensor& scores) {
  const auto [positive, log_negatives] = anchors_of(scores);
  return {loss_against(log_negatives, positive), 0, {}};
}

ScoreLosses debiased_softmax_losses(const at::Tensor& scores, double tau_plus, double temperature) {
  const auto [positive, log_negatives] = anchors_of(scores);
  const auto negatives = static_cast<double>(scores.size(1) - 1);
  const double floor = std::exp(-1 / temperature);
  const at::Tensor estimate = (log_negatives.exp() / negatives - tau_plus * positive.exp()) / (1 - tau_plus);
  const at::Tensor falls_back = estimate.lt(floor);
  // Held at the floor before the log: in the branch not taken the log of a negative number would make every gradient NaN.
  const at::Tensor debiased = loss_against((negatives * estimate.clamp_min(floor)).log(), positive);
  const at::Tensor loss = at::where(falls_back, loss_against(log_negatives, positive), debiased);
  return {loss, LateNumber(falls_back.sum()), LateNumber(estimate.min())};
}

ScoreLosses nce_losses(const at::Tensor& scores, int64_t samples, double normaliser) {
  check_scores(scores);
  const double noise = static_cast<double>(scores.size(1) - 1) / static_cast<double>(samples);
  const variable_list sums = NceSums::apply(scores, normaliser, noise);
  const at::Tensor log_odds = std::log((noise + kNceEpsilon) * normaliser) - sums[0].to(at::kDouble);
  return {at::logaddexp(log_odds, at::zeros_like(log_odds)) + sums[1].to(at::kDouble), 0, {}};
}

double nce_normaliser(const at::Tensor& scores, int64_t samples) {
  check_scores(scores);
  const at::NoGradGuard no_grad;
  return scores.exp().mean(at::kDouble).item<double>() * static_cast<double>(samples);
}

ScoreLosses BankNce::operator()(const at::Tensor& scores) {
  if (!normaliser_) normaliser_ = nce_normaliser(scores, samples_);
  return nce_losses(scores, samples_, *normaliser_);
}

}  // namespace debias
