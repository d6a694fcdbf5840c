// Finds errors in the runs of a sweep before the first starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "debias/core/config.h"
#include "debias/core/progress.h"
#include "debias/sweep/sweep_plan.h"

namespace debias {

struct CheckedPoint {
  Config recipe;  // of its first run, with all defaults; recipe_of() gives those of the others
  int64_t epochs = 0, steps_per_epoch = 0;
  double seconds_per_epoch = 0;  // 0 unless timed
  double seconds() const { return seconds_per_epoch * static_cast<double>(epochs); }
};

struct SweepCheckOptions;

// Checks of agents' runs, from a program that was built with their environments.
struct AgentChecks {
  // The recipe with all defaults. Usage errors: those of the training.
  std::function<Config(const Config& recipe)> resolved;
  // Cost of the run, without its recipe. Makes the environment as training does, unless `made` contains an equal one, and adds it to
  // `made`. Takes a few steps if `options` request the time.
  std::function<CheckedPoint(const Config& recipe, const SweepCheckOptions& options, std::set<std::string>& made)> planned;
};

struct SweepCheckOptions {
  bool timed = false;                           // also takes a few trial steps per point, as `debias train --dry-run` does
  int64_t threads = 0;                          // of those steps, if the recipe does not set them; 0: all
  std::optional<std::set<size_t>> points = {};  // numbers of the checked points; nullopt: all
  AgentChecks agents = {};                      // empty: a sweep of agents is a usage error
};

using CheckedPoints = std::map<size_t, CheckedPoint>;  // by number of the point

// The recipe of a run of the point with all defaults, and with the run's seed and output.
Config recipe_of(const CheckedPoint& point, const SweepRun& run);

// Opens the data and builds the network of every point, once for points that share them, or makes an agent's environment, as training does
// at its start. A run whose folder exists must have the same settings. Of points with the same time per step, such as those that differ in
// temperature or learning rate, one is timed. Throws the errors of training, preceded by the sweep's file and the point, and usage errors
// for an output inside a data folder and for a metric that no evaluation of such data measures. Writes nothing.
CheckedPoints check_sweep(const SweepPlan& plan, const SweepCheckOptions& options, Progress& progress, Log& log);

}  // namespace debias
