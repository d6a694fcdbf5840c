#include "debias/losses/label_free.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "debias/losses/anchor_losses.h"
#include "debias/losses/keyed_input.h"
#include "debias/losses/objective_entry.h"
#include "debias/losses/scores/draws.h"
#include "debias/losses/scores/neighbours.h"
#include "debias/losses/two_view.h"

namespace debias {

void InfoNceOptions::describe(OptionVisitor& o) {
  describe_temperatures(o, temperature, base_temperature);
  o("drop_false_negatives", drop_false_negatives, "negatives of the anchor's class count as zero (needs labels)");
  o.with_variants();
}

ObjectiveResult InfoNceOptions::loss(const ObjectiveInput& given) const {
  const ObjectiveInput input = checked_views(given, kName);
  require_one_positive(input, kName);
  if (drop_false_negatives) require_labels(input, kName, "drop_false_negatives");
  return mean_over_view_pairs(input, loss_scale(*this), kName, [&](const ViewPair& pair) -> AnchorLosses {
    const auto sums = two_view_sums(pair, {.temperature = temperature, .drop_false_negatives = drop_false_negatives}, kName);
    if (sums.negatives == 0) return no_negatives(sums.positive);
    return losses_against(sums.log_kept, sums.positive);
  });
}

ObjectiveResult InfoNceOptions::on_scores(const Scores& scores) const {
  if (const auto* draws = std::get_if<std::vector<BankDraws>>(&scores.of)) {
    return sum_over_banks(*draws, temperature, loss_scale(*this), softmax_losses);
  }
  return mean_over_neighbours(std::get<NeighbourScores>(scores.of), NeighbourNegatives::kOfficial, temperature, loss_scale(*this),
                              biased_losses);
}

std::string InfoNceOptions::unfit_for(ScoreForm form) const {
  if (form != ScoreForm::kNeighbours) return unfit_for_draws(temperature, drop_false_negatives);
  return drop_false_negatives ? kDropsWithoutLabels : "";
}

void UnbiasedOptions::describe(OptionVisitor& o) {
  describe_temperatures(o, temperature, base_temperature);
  o("negatives", negatives, "N times the mean over true negatives, or their sum");
  o.with_variants();
  o.variant("authors", "negatives", "drop");
}

ObjectiveResult UnbiasedOptions::loss(const ObjectiveInput& given) const {
  const ObjectiveInput input = checked_views(given, kName);
  require_one_positive(input, kName);
  require_labels(input, kName, "the choice of true negatives");
  return mean_over_view_pairs(input, loss_scale(*this), kName, [&](const ViewPair& pair) -> AnchorLosses {
    const auto sums = two_view_sums(pair, {.temperature = temperature, .drop_false_negatives = true}, kName);
    at::Tensor log_weight = sums.log_kept;
    if (negatives == TrueNegatives::kRescale) {
      log_weight = log_weight + (std::max<double>(sums.negatives, 1) / sums.kept.clamp_min(1)).log();
    }
    return {.loss = log_one_plus_exp(log_weight - sums.positive), .used = sums.kept.gt(0), .clamped = 0, .min_estimate = {}};
  });
}

namespace {

at::Tensor numerators(const ViewPair& pair, const Rows& rows) {
  if (!rows.square()) return positives_of(pair, rows).numerator;
  const at::Tensor z = rows.flat();
  return (z * z.roll(rows.size() / 2, 0)).sum(1) / rows.temperature;
}

}  // namespace

void EpsInfoNceOptions::describe(OptionVisitor& o) {
  describe_temperatures(o, temperature, base_temperature);
  o("epsilon", epsilon, Range::at_least_or_inf(0), "margin between scaled similarities");
  o.with_variants();
  o.variant("authors", "base_temperature", "0.07");
}

ObjectiveResult EpsInfoNceOptions::loss(const ObjectiveInput& given) const {
  const ObjectiveInput input = checked_views(given, kName);
  require_one_positive(input, kName);
  return mean_over_view_pairs(input, loss_scale(*this), kName, [&](const ViewPair& pair) -> AnchorLosses {
    Rows rows = rows_of(pair, temperature, false, kName);
    if (rows.square()) rows.anchors = rows.flat();  // the gradients of sums and positives meet there
    const at::Tensor positive = numerators(pair, rows);
    if (std::isinf(epsilon) && pair.negatives == 0) return no_negatives(positive);
    const at::Tensor x = log_sums(rows, {{.set = PairSet::kUnequal}})[0] - positive;
    return {.loss = log_add(x, epsilon), .used = {}, .clamped = 0, .min_estimate = {}};
  });
}

}  // namespace debias
