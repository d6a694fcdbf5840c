// A few steps of a training without a run folder, for `debias certify ranks`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "debias/data/dataset.h"
#include "debias/ranks/ranks.h"
#include "debias/train/recipe/recipe.h"

namespace debias {

struct Trial {
  int64_t steps = 20;  // in all; fewer if the recipe's epochs have fewer
  std::string from;    // checkpoint of a trial to resume from; empty: start anew
  std::string out;     // checkpoint that rank 0 writes
};

struct TrialCost {  // of this process, without its first step
  int64_t steps = 0;
  double cpu_seconds = 0;
  double last_loss = 0;
  Traffic rows, statistics, sums;
};

TrialCost run_trial(const Recipe& recipe, std::shared_ptr<const Dataset> dataset, const Ranks& ranks, const Trial& trial);

}  // namespace debias
