// What objectives compute of each anchor's own draws from a memory bank.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "debias/losses/objective.h"
#include "debias/losses/scores.h"
#include "debias/losses/scores/score_losses.h"

namespace debias {

// The losses of anchors from their scores, column 0 the positive, divided by the temperature.
using LossOfDraws = std::function<ScoreLosses(const at::Tensor& scores)>;

// The sum over the banks of the mean over anchors, times `scale`: of `loss`, or of a bank's own estimator (BankDraws::nce).
ObjectiveResult sum_over_banks(const std::vector<BankDraws>& draws, double temperature, double scale, const LossOfDraws& loss);

// Why an objective with such options has no loss of draws; empty where it has one: temperatures are at least 2e-3.
std::string unfit_for_draws(double temperature, bool drop_false_negatives);

}  // namespace debias
