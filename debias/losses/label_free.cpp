#include "debias/losses/label_free.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "debias/losses/bank_draws.h"
#include "debias/losses/comparison.h"
#include "debias/losses/neighbours.h"
#include "debias/losses/objective_entry.h"

namespace debias {

void InfoNceOptions::describe(OptionVisitor& o) {
  describe_temperatures(o, temperature, base_temperature);
  o("drop_false_negatives", drop_false_negatives, "negatives of the anchor's class count as zero (needs labels)");
  o.with_variants();
}

ObjectiveResult InfoNceOptions::loss(const ObjectiveInput& input) const {
  const BatchComparison batch(
      input, {.objective = kName, .temperature = temperature, .drop_false_negatives = drop_false_negatives, .one_positive = true});
  return batch.mean(loss_scale(*this), biased_losses);
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

ObjectiveResult UnbiasedOptions::loss(const ObjectiveInput& input) const {
  const BatchComparison batch(input, {.objective = kName,
                                      .temperature = temperature,
                                      .drop_false_negatives = true,
                                      .labels_for = "the choice of true negatives",
                                      .one_positive = true});
  return batch.mean(loss_scale(*this), [&](const Anchors& anchors) -> AnchorLosses {
    at::Tensor log_weight = anchors.log_kept;
    if (negatives == TrueNegatives::kRescale) {
      log_weight = log_weight + (std::max<double>(anchors.negatives, 1) / anchors.kept.clamp_min(1)).log();
    }
    return {.loss = log_one_plus_exp(log_weight - anchors.positive), .used = anchors.kept.gt(0)};
  });
}

void EpsInfoNceOptions::describe(OptionVisitor& o) {
  describe_temperatures(o, temperature, base_temperature);
  o("epsilon", epsilon, Range::at_least_or_inf(0), "margin between scaled similarities");
  o.with_variants();
  o.variant("authors", "base_temperature", "0.07");
}

ObjectiveResult EpsInfoNceOptions::loss(const ObjectiveInput& input) const {
  const BatchComparison batch(input,
                              {.objective = kName, .temperature = temperature, .one_positive = true, .positives = PositivesFrom::kRows});
  return batch.mean(loss_scale(*this), [&](const Anchors& anchors) -> AnchorLosses {
    if (std::isinf(epsilon) && anchors.negatives == 0) return no_negatives(anchors.positive);
    return {.loss = log_add(anchors.sum_of_kept() - anchors.positive, epsilon)};
  });
}

}  // namespace debias
