// `debias train RECIPE --seeds N`: the seeds of one recipe one after another, as a sweep of a single setting runs them.
#pragma once

#include "debias/sweep/sweep_plan.h"

namespace debias {

struct SeedsMode {
  bool dry_run = false, json = false;
};

// Trains the plan's runs that are not finished, each a process of its own that resumes from its last checkpoint, and returns the exit code.
// Throws as `debias sweep` does: what is wrong with the recipe or its data before anything runs, then what failed.
int train_seeds(SweepPlan plan, SeedsMode mode);

}  // namespace debias
