// The losses of anchors over rows that are drawn from a memory bank for each anchor.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "debias/losses/objective.h"
#include "debias/losses/scores.h"
#include "debias/losses/scores/score_losses.h"

namespace debias {

// The losses of anchors from their scores divided by the temperature; column 0 is the positive.
using LossOfDraws = std::function<ScoreLosses(const at::Tensor& scores)>;

// The sum over banks of the mean over anchors, times `scale`, of `loss` or of a bank's own estimator (BankDraws::nce).
ObjectiveResult sum_over_banks(const std::vector<BankDraws>& draws, double temperature, double scale, const LossOfDraws& loss);

// Why the options are invalid for draws; empty for temperatures of at least 2e-3.
std::string unfit_for_draws(double temperature, bool drop_false_negatives);

}  // namespace debias
