#include "debias/losses/biascon.h"

#include <ATen/ATen.h>

#include "debias/core/error.h"
#include "debias/losses/anchor_losses.h"
#include "debias/losses/class_rows.h"
#include "debias/losses/objective_entry.h"
#include "debias/losses/temperature_options.h"
#include "debias/losses/two_view.h"

namespace debias {
namespace {

constexpr char kBiasconName[] = "biascon";

at::Tensor numbered(const at::Tensor& keys) { return std::get<1>(at::_unique(keys, true, true)); }

// One group for each pair of a known label and a known bias, one for each other sample.
at::Tensor aligned_groups(const PairKeys& keys) {
  const at::Tensor bias = numbered(keys.bias), both = numbered(keys.label) * (bias.max() + 1) + bias;
  return class_groups(both.where(keys.label.ge(0).logical_and(keys.bias.ge(0)), -1), keys.sample);
}

}  // namespace

const OptionTable<BiasConOptions>& BiasConOptions::table() {
  static const auto table = table_with_temperatures<BiasConOptions>().with_variants();
  return table;
}

namespace {

ObjectiveResult computed(const ObjectiveInput& input, const BiasConOptions& options) {
  refuse_keys(input, kBiasconName);
  require_labels(input, kBiasconName, "the choice of positives");
  if (!input.bias.defined()) throw usage_error("{}: needs bias labels, one for each sample; none were given", kBiasconName);
  const ClassRows rows = class_rows(input, options.temperature(), kBiasconName);
  // The class's sum minus the aligned rows' sum, linear in n; in double, since a few conflicting rows may be what is left of many.
  Rows same_class = rows.pairs;
  same_class.anchors = rows.pairs.anchors.to(at::kDouble);
  if (same_class.engine == Engine::kFused) same_class.engine = Engine::kAuto;  // which has no double rows; the sums over all keys are fused
  Rows aligned = same_class;
  aligned.group = aligned_groups(rows.keys);
  const at::Tensor count = rows.positives - set_sizes(aligned, PairSet::kEqual);
  const at::Tensor mean = (equal_sums(same_class) - equal_sums(aligned)) / count.clamp_min(1);

  const at::Tensor others = log_sums(rows.pairs, {{.set = PairSet::kOthers}})[0];
  const at::Tensor loss = (others - mean.to(others.scalar_type())).where(count.gt(0), 0);
  return mean_over_anchors({.loss = loss, .used = {}, .clamped = 0, .min_estimate = {}}, loss_scale(options), rows.pairs.engines);
}

}  // namespace

ObjectiveResult biascon(const ObjectiveInput& input, const BiasConOptions& options) {
  return computed(input, verified(options, kBiasconName));
}

ObjectiveResult biascon(const at::Tensor& z, const at::Tensor& labels, const at::Tensor& bias, const BiasConOptions& options) {
  return biascon(ObjectiveInput{.z = z, .labels = labels, .bias = bias}, options);
}

ObjectiveEntry biascon_entry() {
  ObjectiveEntry entry;
  entry.name = kBiasconName;
  entry.summary = "SupCon whose only positives are the bias-conflicting samples of the anchor's class (Hong and Yang 2021)";
  entry.needs_labels = true;
  entry.needs_bias = true;
  return with_options<BiasConOptions>(std::move(entry), computed);
}

}  // namespace debias
