// Runs of agents as a sweep checks them, before the first is started. In a program that was built without MuJoCo or EGL every function is a
// usage error that says what to do (no_control/).
#pragma once

#include <set>
#include <string>

#include "apps/debias/sweep_check.h"
#include "debias/core/config.h"

namespace debias {

// The recipe with every default written out. Usage errors: what `debias rl train` refuses.
Config resolved_agent(const Config& recipe);

// What the run will take, its recipe left out. An environment is made as training makes it, unless one like it is in `made`, where it is
// noted; a few steps are taken where `options` ask for the time.
CheckedPoint planned_agent(const Config& recipe, const SweepCheckOptions& options, std::set<std::string>& made);

}  // namespace debias
