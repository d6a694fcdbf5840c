#include "debias/losses/over_classes.h"

#include <ATen/ATen.h>

#include <cmath>

#include "debias/core/error.h"
#include "debias/losses/comparison.h"
#include "debias/losses/objective_entry.h"
#include "debias/pairs/pair_sums.h"

namespace debias {
namespace {

at::Tensor losses_of(const Classes& rows, SupConForm form) {
  if (form == SupConForm::kOut) return log_sums(rows.pairs, {{.set = PairSet::kOthers}})[0] - equal_means(rows.pairs);
  const auto sums = log_sums(rows.pairs, {{.set = PairSet::kOthers}, {.set = PairSet::kEqual}});
  return sums[0] - sums[1] + rows.positives.clamp_min(1).log();
}

}  // namespace

void SupConOptions::describe(OptionVisitor& o) {
  describe_temperatures(o, temperature, base_temperature);
  o("form", form, "mean over positives outside the log, or inside");
  o.with_variants();
  o.variant("authors", "base_temperature", "0.07");
}

ObjectiveResult SupConOptions::loss(const ObjectiveInput& input) const {
  const Classes rows = classes_of(input, temperature, kName);
  if (!input.labels.defined() && input.z.size(1) < 2 && !input.keys.defined()) {
    throw usage_error("{}: needs labels, or at least 2 views of each sample; found no labels and 1 view", kName);
  }
  const at::Tensor loss = losses_of(rows, form).where(rows.is_attracted, 0);
  return rows.mean(loss, loss_scale(*this));
}

namespace {

at::Tensor losses_of(const Classes& rows, const EpsSupConOptions& options) {
  if (std::isinf(options.epsilon)) {
    const at::Tensor negatives = log_sums(rows.pairs, {{.set = PairSet::kUnequal}})[0];
    return (negatives - equal_means(rows.pairs)).where(rows.is_attracted.logical_and(rows.negatives.gt(0)), 0);
  }
  const auto sums = log_sums(rows.pairs, {{.set = PairSet::kUnequal}, {.set = PairSet::kEqual}});
  const at::Tensor loss = at::logaddexp(sums[0], sums[1] - options.epsilon) - equal_means(rows.pairs);
  return (options.add_epsilon ? loss + options.epsilon : loss).where(rows.is_attracted, 0);
}

void check_sum_is_finite(const EpsSupConOptions& options, const std::string& what) {
  if (std::isinf(options.epsilon) && options.add_epsilon) {
    throw usage_error("{}: epsilon: inf makes the loss infinite while it is added; set add_epsilon: false", what);
  }
}

}  // namespace

void EpsSupConOptions::describe(OptionVisitor& o) {
  describe_temperatures(o, temperature, base_temperature);
  o("epsilon", epsilon, Range::at_least_or_inf(0), "margin between scaled similarities");
  o("add_epsilon", add_epsilon, "add epsilon to the loss (no gradient is changed)");
  o("over_positives", over_positives, "the mean over an anchor's positives, or the sum");
  o.with_variants();
  o.variant("authors", "base_temperature", "0.07");
  o.variant("authors", "add_epsilon", "false");
  o.check([this](const std::string& what) { check_sum_is_finite(*this, what); });
}

ObjectiveResult EpsSupConOptions::loss(const ObjectiveInput& input) const {
  require_labels(input, kName, "the choice of positives");
  const Classes rows = classes_of(input, temperature, kName);
  at::Tensor loss = losses_of(rows, *this);
  if (over_positives == OverPositives::kSum) loss = loss * rows.positives;
  return rows.mean(loss, loss_scale(*this));
}

namespace {

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

Terms terms_of(const Classes& rows, const EpsSupInfoNceOptions& options) {
  const double epsilon = options.epsilon;
  const at::Tensor one = at::ones_like(rows.positives);
  const PairSum negatives = {.set = PairSet::kUnequal}, positives = {.set = PairSet::kEqual};
  const PairSum opposite_positives = {.set = PairSet::kEqual, .multiplier = -1};
  switch (options.form) {
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
        throw usage_error("{}: form d compares rows of a batch with each other and takes no keys; choose another",
                          EpsSupInfoNceOptions::kName);
      return {log_add_triplet_sums(rows.pairs, epsilon), rows.positives * rows.negatives};
    case EpsForm::kIn: {
      const auto sums = log_sums(rows.pairs, {negatives, positives});
      return {at::logaddexp(-rows.positives.clamp_min(1).log() - epsilon, sums[0] - sums[1]), one};
    }
    case EpsForm::kC:
      break;
  }
  const at::Tensor c = log_negatives(rows.pairs, options.log_eps);
  return {log_add_sums(rows.pairs, c, {.set = PairSet::kEqual, .sign = -1, .epsilon = epsilon}), rows.positives};
}

// Without negatives the loss is -epsilon; an infinite one says nothing about the anchor.
at::Tensor has_loss(const Classes& rows, const EpsSupInfoNceOptions& options) {
  const bool infinite = std::isinf(options.epsilon) && (options.form != EpsForm::kC || options.log_eps == 0);
  return infinite ? rows.is_attracted.logical_and(rows.negatives.gt(0)) : rows.is_attracted;
}

}  // namespace

void EpsSupInfoNceOptions::describe(OptionVisitor& o) {
  describe_temperatures(o, temperature, base_temperature);
  o("epsilon", epsilon, Range::at_least_or_inf(0), "margin between scaled similarities");
  o("form", form, "sums outside the log: positives (c), nothing (a), negatives (b), both (d); in: the code's form");
  o("over_positives", over_positives, "the mean of an anchor's outer terms, or their sum");
  o("log_eps", log_eps, Range::at_least(0), "the code's constant inside the log of form c, times the row's largest e^s");
  o.with_variants();
  o.variant("paper", "over_positives", "sum");
  o.variant("authors", "base_temperature", "0.07");
  o.variant("authors", "log_eps", "1e-06");
}

ObjectiveResult EpsSupInfoNceOptions::loss(const ObjectiveInput& input) const {
  require_labels(input, kName, "the choice of positives");
  const Classes rows = classes_of(input, temperature, kName);
  const Terms terms = terms_of(rows, *this);
  at::Tensor loss = terms.sum.where(has_loss(rows, *this), 0);
  if (over_positives == OverPositives::kMean) loss = loss / terms.count.clamp_min(1);
  return rows.mean(loss, loss_scale(*this));
}

}  // namespace debias
