#include "debias/losses/scores.h"

#include <algorithm>

namespace debias {

ScoreForm Scores::form() const {
  const auto* draws = std::get_if<std::vector<BankDraws>>(&of);
  if (draws == nullptr) return ScoreForm::kNeighbours;
  const bool estimates = std::ranges::any_of(*draws, [](const BankDraws& each) { return each.nce != nullptr; });
  return estimates ? ScoreForm::kNceDraws : ScoreForm::kDraws;
}

}  // namespace debias
