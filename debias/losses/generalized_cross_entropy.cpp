#include "debias/losses/generalized_cross_entropy.h"

#include <ATen/ATen.h>

#include "debias/losses/anchor_losses.h"
#include "debias/losses/cross_entropy.h"
#include "debias/losses/objective_entry.h"

namespace debias {
namespace {

constexpr char kGeneralizedCrossEntropyName[] = "generalized_cross_entropy";

}  // namespace

const OptionTable<GeneralizedCrossEntropyOptions>& GeneralizedCrossEntropyOptions::table() {
  using Self = GeneralizedCrossEntropyOptions;
  static const auto table =
      OptionTable<Self>()
          .add("q", &Self::q_, Range::open_closed(0, 1), "exponent q: cross-entropy near 0, the mean absolute error at 1")
          .add("form", &Self::form_, "(1 - p^q) / q, or cross-entropy weighted with q p^q")
          .with_variants()
          .variant("authors", "form", "lff");
  return table;
}

namespace {

ObjectiveResult computed(const ObjectiveInput& input, const GeneralizedCrossEntropyOptions& options) {
  const LabelledLogits rows = labelled_logits(input, kGeneralizedCrossEntropyName);
  const at::Tensor log_p = rows.log_probability();
  const double q = options.q();
  const at::Tensor loss = options.form() == GceForm::kStandard ? -(q * log_p).expm1() / q : -q * (q * log_p).exp().detach() * log_p;
  return mean_over_anchors({.loss = loss, .used = rows.known, .clamped = 0, .min_estimate = {}}, 1, {});
}

}  // namespace

ObjectiveResult generalized_cross_entropy(const ObjectiveInput& input, const GeneralizedCrossEntropyOptions& options) {
  return computed(input, verified(options, kGeneralizedCrossEntropyName));
}

ObjectiveResult generalized_cross_entropy(const at::Tensor& logits, const at::Tensor& labels,
                                          const GeneralizedCrossEntropyOptions& options) {
  return generalized_cross_entropy(ObjectiveInput{.z = logits, .labels = labels}, options);
}

ObjectiveEntry generalized_cross_entropy_entry() {
  ObjectiveEntry entry;
  entry.name = kGeneralizedCrossEntropyName;
  entry.aliases = {"gce"};
  entry.summary = "cross-entropy that gives confident samples more weight, (1 - p^q) / q (Zhang & Sabuncu 2018)";
  entry.kind = InputKind::kLogits;
  entry.needs_labels = true;
  return with_options<GeneralizedCrossEntropyOptions>(std::move(entry), computed);
}

}  // namespace debias
