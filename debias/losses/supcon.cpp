#include "debias/losses/supcon.h"

#include <ATen/ATen.h>

#include "debias/core/error.h"
#include "debias/losses/anchor_losses.h"
#include "debias/losses/class_rows.h"
#include "debias/losses/objective_entry.h"
#include "debias/losses/temperature_options.h"

namespace debias {
namespace {

constexpr char kSupconName[] = "supcon";

at::Tensor losses_of(const ClassRows& rows, SupConForm form) {
  if (form == SupConForm::kOut) return log_sums(rows.pairs, {{.set = PairSet::kOthers}})[0] - equal_means(rows.pairs);
  const auto sums = log_sums(rows.pairs, {{.set = PairSet::kOthers}, {.set = PairSet::kEqual}});
  return sums[0] - sums[1] + rows.positives.clamp_min(1).log();
}

}  // namespace

const OptionTable<SupConOptions>& SupConOptions::table() {
  static const auto table = table_with_temperatures<SupConOptions>()
                                .add("form", &SupConOptions::form_, "mean over positives outside the log, or inside")
                                .with_variants()
                                .variant("authors", "base_temperature", "0.07");
  return table;
}

namespace {

ObjectiveResult computed(const ObjectiveInput& input, const SupConOptions& options) {
  const ClassRows rows = class_rows(input, options.temperature(), kSupconName);
  if (!input.labels.defined() && input.z.size(1) < 2 && !input.keys.defined()) {
    throw usage_error("{}: needs labels, or at least 2 views of each sample; found no labels and 1 view", kSupconName);
  }
  const at::Tensor loss = losses_of(rows, options.form()).where(rows.is_attracted, 0);
  return mean_over_anchors({.loss = loss, .used = {}, .clamped = 0, .min_estimate = {}}, loss_scale(options), rows.pairs.engines);
}

}  // namespace

ObjectiveResult supcon(const ObjectiveInput& input, const SupConOptions& options) {
  return computed(input, verified(options, kSupconName));
}

ObjectiveResult supcon(const at::Tensor& z, const at::Tensor& labels, const SupConOptions& options) {
  return supcon(ObjectiveInput{.z = z, .labels = labels}, options);
}

ObjectiveEntry supcon_entry() {
  ObjectiveEntry entry;
  entry.name = kSupconName;
  entry.summary = "pulls embeddings of one class together and pushes those of other classes away (Khosla et al. 2020 eqs. 2 and 3)";
  entry.takes_keys = true;
  entry.joins_positives = true;
  return with_options<SupConOptions>(std::move(entry), computed);
}

}  // namespace debias
