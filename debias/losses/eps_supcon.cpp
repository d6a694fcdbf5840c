#include "debias/losses/eps_supcon.h"

#include <ATen/ATen.h>

#include <cmath>

#include "debias/core/error.h"
#include "debias/losses/anchor_losses.h"
#include "debias/losses/objective_entry.h"
#include "debias/losses/temperature_options.h"
#include "debias/losses/two_view.h"

namespace debias {
namespace {

constexpr char kEpsSupconName[] = "eps_supcon";

at::Tensor losses_of(const ClassRows& rows, const EpsSupConOptions& options) {
  if (std::isinf(options.epsilon())) {
    const at::Tensor negatives = log_sums(rows.pairs, {{.set = PairSet::kUnequal}})[0];
    return (negatives - equal_means(rows.pairs)).where(rows.is_attracted.logical_and(rows.negatives.gt(0)), 0);
  }
  const auto sums = log_sums(rows.pairs, {{.set = PairSet::kUnequal}, {.set = PairSet::kEqual}});
  const at::Tensor loss = at::logaddexp(sums[0], sums[1] - options.epsilon()) - equal_means(rows.pairs);
  return (options.add_epsilon() ? loss + options.epsilon() : loss).where(rows.is_attracted, 0);
}

void check_sum_is_finite(const EpsSupConOptions& options, const std::string& what) {
  if (std::isinf(options.epsilon()) && options.add_epsilon()) {
    throw usage_error("{}: epsilon: inf makes the loss infinite while it is added; set add_epsilon: false", what);
  }
}

}  // namespace

const OptionTable<EpsSupConOptions>& EpsSupConOptions::table() {
  using Self = EpsSupConOptions;
  static const auto table = table_with_temperatures<Self>()
                                .add("epsilon", &Self::epsilon_, Range::at_least_or_inf(0), "margin between scaled similarities")
                                .add("add_epsilon", &Self::add_epsilon_, "add epsilon to the loss (no gradient is changed)")
                                .add("over_positives", &Self::over_positives_, "the mean over an anchor's positives, or the sum")
                                .with_variants()
                                .variant("authors", "base_temperature", "0.07")
                                .variant("authors", "add_epsilon", "false")
                                .check(check_sum_is_finite);
  return table;
}

namespace {

ObjectiveResult computed(const ObjectiveInput& input, const EpsSupConOptions& options) {
  require_labels(input, kEpsSupconName, "the choice of positives");
  const ClassRows rows = class_rows(input, options.temperature(), kEpsSupconName);
  at::Tensor loss = losses_of(rows, options);
  if (options.over_positives() == OverPositives::kSum) loss = loss * rows.positives;
  return mean_over_anchors({.loss = loss, .used = {}, .clamped = 0, .min_estimate = {}}, loss_scale(options), rows.pairs.engines);
}

}  // namespace

ObjectiveResult eps_supcon(const ObjectiveInput& input, const EpsSupConOptions& options) {
  return computed(input, verified(options, kEpsSupconName));
}

ObjectiveResult eps_supcon(const at::Tensor& z, const at::Tensor& labels, const EpsSupConOptions& options) {
  return eps_supcon(ObjectiveInput{.z = z, .labels = labels}, options);
}

ObjectiveEntry eps_supcon_entry() {
  ObjectiveEntry entry;
  entry.name = kEpsSupconName;
  entry.summary = "SupCon with a margin between positives and negatives (Barbano et al. 2023 eq. 5)";
  entry.needs_labels = true;
  entry.takes_keys = true;
  entry.joins_positives = true;
  return with_options<EpsSupConOptions>(std::move(entry), computed);
}

}  // namespace debias
