#include "debias/losses/scores/draws.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "debias/losses/joined_results.h"
#include "debias/losses/scores/bank_scores.h"

namespace debias {
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
