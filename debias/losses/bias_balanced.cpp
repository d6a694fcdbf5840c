#include "debias/losses/bias_balanced.h"

#include <ATen/ATen.h>

#include <limits>

#include "debias/core/error.h"
#include "debias/losses/anchor_losses.h"
#include "debias/losses/cross_entropy.h"
#include "debias/losses/objective_entry.h"
#include "debias/losses/pair_keys.h"

namespace debias {
namespace {

constexpr char kBiasBalancedName[] = "bias_balanced";
constexpr double kLeastProbability = 1e-9;  // added to P(y | b), as in the authors' code
constexpr double kSumTolerance = 1e-3;

// Addend of each row's logits, and the usable rows: bias labels as indices of the table's columns.
struct PriorOfRows {
  at::Tensor table;   // double [C, G], G >= 1
  at::Tensor column;  // int64 [N], 0 where the row is not used
  at::Tensor used;    // bool [N]
};

PriorOfRows given_prior(const at::Tensor& prior, const at::Tensor& bias, const LabelledLogits& rows) {
  const int64_t classes = rows.logits.size(1);
  if (prior.dim() != 2 || prior.size(0) != classes || prior.size(1) == 0 || !prior.is_floating_point()) {
    throw data_error("{}: prior: expected floating-point P(y | b) of shape [{}, bias labels], found {} of shape {}", kBiasBalancedName,
                     classes, c10::toString(prior.scalar_type()), c10::str(prior.sizes()));
  }
  check_keys(bias, prior.size(1), "bias label", "columns of the prior", kBiasBalancedName);  // also of who vouches: the prior is another's
  PriorOfRows found = {prior.detach().to(bias.device(), at::kDouble), bias.clamp_min(0), bias.ge(0).logical_and(rows.known)};
  if (!found.table.ge(0).logical_and(found.table.le(1 + kSumTolerance)).all().item<bool>()) {
    throw data_error("{}: prior: P(y | b) must be in [0, 1]; the table [labels, bias labels] has other entries", kBiasBalancedName);
  }
  const at::Tensor sums = found.table.sum(0).index_select(0, found.column);
  const at::Tensor wrong = (sums - 1).abs().gt(kSumTolerance).logical_and(found.used).nonzero();
  if (wrong.size(0) == 0) return found;
  const int64_t row = wrong[0][0].item<int64_t>();
  throw data_error("{}: prior: column {} sums to {:.6g}, P(y | b) over labels sums to 1; give it as [labels, bias labels]",
                   kBiasBalancedName, found.column[row].item<int64_t>(), sums[row].item<double>());
}

PriorOfRows counted_prior(const at::Tensor& bias, const LabelledLogits& rows) {
  check_keys(bias, std::numeric_limits<int64_t>::max(), "bias label", "counted prior", kBiasBalancedName);
  const auto [values, index] = at::_unique(bias, true, true);
  const at::Tensor used = bias.ge(0).logical_and(rows.known);
  const int64_t groups = values.size(0);
  const at::Tensor counts = at::zeros({rows.logits.size(1) * groups}, used.options().dtype(at::kDouble))
                                .index_add(0, rows.label * groups + index, used.to(at::kDouble))
                                .view({-1, groups});
  return {counts / counts.sum(0).clamp_min(1), index, used};
}

}  // namespace

const OptionTable<BiasBalancedOptions>& BiasBalancedOptions::table() {
  static const auto table = OptionTable<BiasBalancedOptions>().with_variants();
  return table;
}

ObjectiveResult bias_balanced(const ObjectiveInput& input, const BiasBalancedOptions&) {
  const LabelledLogits rows = labelled_logits(input, kBiasBalancedName);
  if (!input.bias.defined()) throw usage_error("{}: needs bias labels; none were given", kBiasBalancedName);
  const at::Tensor bias = pair_keys(input, 1, kBiasBalancedName).bias;
  const PriorOfRows prior = input.prior.defined() ? given_prior(input.prior, bias, rows) : counted_prior(bias, rows);
  const at::Tensor offsets = (prior.table + kLeastProbability).log().t().index_select(0, prior.column).to(rows.logits.scalar_type());
  const at::Tensor loss = -rows.log_probability(rows.logits + offsets);
  return mean_over_anchors({.loss = loss, .used = prior.used, .clamped = 0, .min_estimate = {}}, 1, {});
}

ObjectiveResult bias_balanced(const at::Tensor& logits, const at::Tensor& labels, const at::Tensor& bias, const at::Tensor& prior) {
  return bias_balanced(ObjectiveInput{.z = logits, .labels = labels, .bias = bias, .prior = prior}, BiasBalancedOptions());
}

ObjectiveEntry bias_balanced_entry() {
  ObjectiveEntry entry;
  entry.name = kBiasBalancedName;
  entry.summary = "cross-entropy on logits + ln P(label | bias), so that the network gains nothing from the bias (Hong & Yang 2021)";
  entry.kind = InputKind::kLogits;
  entry.needs_labels = true;
  entry.takes_prior = true;
  entry.needs_bias = true;
  return with_options<BiasBalancedOptions>(std::move(entry), bias_balanced);
}

}  // namespace debias
