#include "debias/losses/eps_supinfonce.h"

#include <ATen/ATen.h>

#include <cmath>

#include "debias/losses/anchor_losses.h"
#include "debias/losses/objective_entry.h"
#include "debias/losses/temperature_options.h"
#include "debias/losses/two_view.h"
#include "debias/pairs/triplet_sums.h"

namespace debias {
namespace {

constexpr char kEpsSupinfonceName[] = "eps_supinfonce";

at::Tensor log_negatives(const Rows& pairs, double log_eps) {
  const at::Tensor sum = log_sums(pairs, {{.set = PairSet::kUnequal}})[0];
  if (log_eps == 0) return sum;
  const at::Tensor maximum = pairs.flat().square().sum(1).detach() / pairs.temperature;
  return at::logaddexp(sum, maximum + std::log(log_eps));
}

// The sum of an anchor's outer terms, and their number.
struct Terms {
  at::Tensor sum, count;
};

Terms terms_of(const ClassRows& rows, const EpsSupInfoNceOptions& options) {
  const double epsilon = options.epsilon();
  const at::Tensor one = at::ones_like(rows.positives);
  const PairSum negatives = {.set = PairSet::kUnequal}, positives = {.set = PairSet::kEqual};
  const PairSum opposite_positives = {.set = PairSet::kEqual, .multiplier = -1};
  switch (options.form()) {
    case EpsForm::kA: {
      const auto sums = log_sums(rows.pairs, {negatives, opposite_positives});
      return {log_add(sums[0] + sums[1], epsilon), one};
    }
    case EpsForm::kB: {
      const at::Tensor c = log_sums(rows.pairs, {opposite_positives})[0];
      return {log_add_sums(rows.pairs, c, {.set = PairSet::kUnequal, .sign = 1, .epsilon = epsilon}), rows.negatives};
    }
    case EpsForm::kD:
      if (!rows.pairs.square())
        throw usage_error("{}: form d compares rows of a batch with each other and takes no keys; choose another", kEpsSupinfonceName);
      return {log_add_triplet_sums(rows.pairs, epsilon), rows.positives * rows.negatives};
    case EpsForm::kIn: {
      const auto sums = log_sums(rows.pairs, {negatives, positives});
      return {at::logaddexp(-rows.positives.clamp_min(1).log() - epsilon, sums[0] - sums[1]), one};
    }
    case EpsForm::kC:
      break;
  }
  const at::Tensor c = log_negatives(rows.pairs, options.log_eps());
  return {log_add_sums(rows.pairs, c, {.set = PairSet::kEqual, .sign = -1, .epsilon = epsilon}), rows.positives};
}

// Without negatives the loss is -epsilon; an infinite one says nothing about the anchor.
at::Tensor has_loss(const ClassRows& rows, const EpsSupInfoNceOptions& options) {
  const bool infinite = std::isinf(options.epsilon()) && (options.form() != EpsForm::kC || options.log_eps() == 0);
  return infinite ? rows.is_attracted.logical_and(rows.negatives.gt(0)) : rows.is_attracted;
}

}  // namespace

const OptionTable<EpsSupInfoNceOptions>& EpsSupInfoNceOptions::table() {
  using Self = EpsSupInfoNceOptions;
  static const auto table =
      table_with_temperatures<Self>()
          .add("epsilon", &Self::epsilon_, Range::at_least_or_inf(0), "margin between scaled similarities")
          .add("form", &Self::form_, "sums outside the log: positives (c), nothing (a), negatives (b), both (d); in: the code's form")
          .add("over_positives", &Self::over_positives_, "the mean of an anchor's outer terms, or their sum")
          .add("log_eps", &Self::log_eps_, Range::at_least(0), "the code's constant inside the log of form c, times the row's largest e^s")
          .with_variants()
          .variant("paper", "over_positives", "sum")
          .variant("authors", "base_temperature", "0.07")
          .variant("authors", "log_eps", "1e-06");
  return table;
}

namespace {

ObjectiveResult computed(const ObjectiveInput& input, const EpsSupInfoNceOptions& options) {
  require_labels(input, kEpsSupinfonceName, "the choice of positives");
  const ClassRows rows = class_rows(input, options.temperature(), kEpsSupinfonceName);
  const Terms terms = terms_of(rows, options);
  at::Tensor loss = terms.sum.where(has_loss(rows, options), 0);
  if (options.over_positives() == OverPositives::kMean) loss = loss / terms.count.clamp_min(1);
  return mean_over_anchors({.loss = loss, .used = {}, .clamped = 0, .min_estimate = {}}, loss_scale(options), rows.pairs.engines);
}

}  // namespace

ObjectiveResult eps_supinfonce(const ObjectiveInput& input, const EpsSupInfoNceOptions& options) {
  return computed(input, verified(options, kEpsSupinfonceName));
}

ObjectiveResult eps_supinfonce(const at::Tensor& z, const at::Tensor& labels, const EpsSupInfoNceOptions& options) {
  return eps_supinfonce(ObjectiveInput{.z = z, .labels = labels}, options);
}

ObjectiveEntry eps_supinfonce_entry() {
  ObjectiveEntry entry;
  entry.name = kEpsSupinfonceName;
  entry.summary = "contrasts each positive of the anchor's class with the negatives only, with a margin (Barbano et al. 2023 eq. 4)";
  entry.needs_labels = true;
  entry.takes_keys = true;
  entry.joins_positives = true;
  return with_options<EpsSupInfoNceOptions>(std::move(entry), computed);
}

}  // namespace debias
