// A few steps of a training, without a run folder: what `debias certify ranks` compares.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "debias/data/dataset.h"
#include "debias/ranks/ranks.h"
#include "debias/train/recipe/recipe.h"

namespace debias {

struct Trial {
  int64_t steps = 20;  // of the run in all; fewer where its epochs have fewer
  std::string from;    // a trial's file to resume from; empty: from the beginning
  std::string out;     // a checkpoint, which rank 0 writes
};

struct TrialCost {  // of this process, its first step left out
  int64_t steps = 0;
  double cpu_seconds = 0;
  double last_loss = 0;
  Traffic rows, statistics, sums;
};

TrialCost run_trial(const Recipe& recipe, std::shared_ptr<const Dataset> dataset, const Ranks& ranks, const Trial& trial);

}  // namespace debias
