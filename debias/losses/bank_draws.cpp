#include "debias/losses/bank_draws.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>

#include "debias/core/error.h"
#include "debias/kernels/bank_scores.h"
#include "debias/losses/comparison.h"
#include "debias/runtime/device.h"

namespace debias {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

kernels::BankRows rows_of(const at::Tensor& bank) { return {bank.const_data_ptr<float>(), bank.size(0), bank.size(1)}; }
kernels::BankPicks picks_of(const at::Tensor& ids) { return {ids.const_data_ptr<int32_t>(), ids.size(0), ids.size(1)}; }

class InPlaceScores : public Function<InPlaceScores> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& f, const at::Tensor& bank, const at::Tensor& ids,
                            double temperature) {
    context->save_for_backward({bank, ids});
    context->saved_data["temperature"] = temperature;
    at::Tensor scores = at::empty(ids.sizes(), f.options());
    kernels::bank_scores_forward(rows_of(bank), picks_of(ids), f.contiguous().const_data_ptr<float>(), static_cast<float>(1 / temperature),
                                 scores.mutable_data_ptr<float>());
    return scores;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    if (at::GradMode::is_enabled()) throw usage_error("bank_scores: it has no second derivative; give rows in double, which are gathered");
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &bank = saved[0], &ids = saved[1], grad = grads[0].contiguous();
    const double temperature = context->saved_data["temperature"].toDouble();
    at::Tensor df = at::empty({ids.size(0), bank.size(1)}, grad.options());
    kernels::bank_scores_backward(rows_of(bank), picks_of(ids), grad.const_data_ptr<float>(), static_cast<float>(1 / temperature),
                                  df.mutable_data_ptr<float>());
    return {df, {}, {}, {}};
  }
};

void check_bank(const at::Tensor& bank, const at::Tensor& ids, const at::Tensor& f) {
  const bool fit = bank.dim() == 2 && ids.dim() == 2 && f.dim() == 2 && ids.size(0) == f.size(0) && f.size(1) == bank.size(1) &&
                   ids.numel() > 0 && bank.numel() > 0;
  if (!fit) {
    throw data_error("bank_scores: expected a bank [n, D], ids [B, picks] and anchors [B, D], found [{}], [{}] and [{}]",
                     fmt::join(bank.sizes(), ", "), fmt::join(ids.sizes(), ", "), fmt::join(f.sizes(), ", "));
  }
  if (ids.scalar_type() != at::kInt || !ids.is_cpu()) {
    throw data_error("bank_scores: expected ids in int32 on the CPU, found {} on {}", c10::toString(ids.scalar_type()), ids.device().str());
  }
  const auto [low, high] = at::aminmax(ids);
  if (low.item<int32_t>() < 0 || high.item<int32_t>() >= bank.size(0)) {
    throw data_error("bank_scores: ids run from {} to {}, and the bank has rows 0 to {}", low.item<int32_t>(), high.item<int32_t>(),
                     bank.size(0) - 1);
  }
}

bool in_place(const at::Tensor& bank, const at::Tensor& f) {
  return bank.is_cpu() && f.is_cpu() && bank.scalar_type() == at::kFloat && f.scalar_type() == at::kFloat && bank.is_contiguous();
}

}  // namespace

at::Tensor bank_scores(const at::Tensor& bank, const at::Tensor& ids, const at::Tensor& f, double temperature) {
  check_bank(bank, ids, f);
  if (in_place(bank, f)) return InPlaceScores::apply(f, bank.detach(), ids.contiguous(), temperature);
  const at::Tensor there = upload(ids.contiguous(), bank.device());
  if (bank.is_cpu() || bank.size(0) > ids.size(1) * bank.size(1)) return gathered_bank_scores(bank, there, f, temperature);
  return at::mm(f, bank.detach().t().to(f.scalar_type())).gather(1, there.to(at::kLong)) / temperature;
}

at::Tensor gathered_bank_scores(const at::Tensor& bank, const at::Tensor& ids, const at::Tensor& f, double temperature) {
  const at::Tensor picked = bank.detach().index_select(0, ids.flatten()).view({ids.size(0), ids.size(1), bank.size(1)});
  return at::bmm(picked.to(f.scalar_type()), f.unsqueeze(2)).squeeze(2) / temperature;
}

namespace {

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

struct DrawnAnchors {
  at::Tensor positive, log_negatives;  // [B] in double
};

DrawnAnchors anchors_of(const at::Tensor& scores) {
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

namespace {

constexpr double kLeastDrawTemperature = 2e-3;  // e^{1/t} is formed as it is, in double

}  // namespace

ObjectiveResult sum_over_banks(const std::vector<BankDraws>& draws, double temperature, double scale, const LossOfDraws& loss) {
  std::vector<ObjectiveResult> parts;
  for (const auto& [anchors, bank, ids, nce] : draws) {
    const at::Tensor scores = bank_scores(bank, ids, anchors, temperature);
    const ScoreLosses found = nce != nullptr ? (*nce)(scores) : loss(scores);
    ObjectiveResult part;
    part.value = found.loss.mean().to(anchors.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
    part.per_anchor = found.loss.detach() * scale;
    part.anchors = part.anchors_used = found.loss.size(0);
    part.clamped = found.fallen_back;
    part.min_estimate = found.min_estimate;
    parts.push_back(std::move(part));
  }
  return joined(parts, scale);
}

std::string unfit_for_draws(double temperature, bool drop_false_negatives) {
  if (drop_false_negatives) return kDropsWithoutLabels;
  if (temperature >= kLeastDrawTemperature) return "";
  return fmt::format("temperature: draws from a bank take {} or more, found {}", kLeastDrawTemperature, temperature);
}

}  // namespace debias
