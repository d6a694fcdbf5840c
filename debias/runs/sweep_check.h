// Finds mistakes in the runs of a sweep before the first is started.
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
  Config recipe;  // of its first run, every default written out; recipe_of() has that of the others
  int64_t epochs = 0, steps_per_epoch = 0;
  double seconds_per_epoch = 0;  // 0 unless timed
  double seconds() const { return seconds_per_epoch * static_cast<double>(epochs); }
};

struct SweepCheckOptions;

// Check of agents' runs, given by a program that was built with their environments.
struct AgentChecks {
  // The recipe with every default written out. Usage errors: what the training rejects.
  std::function<Config(const Config& recipe)> resolved;
  // Cost of the run, without its recipe. An environment is made as training makes it, unless one like it is in `made`, where it is
  // noted; a few steps are taken if `options` request the time.
  std::function<CheckedPoint(const Config& recipe, const SweepCheckOptions& options, std::set<std::string>& made)> planned;
};

struct SweepCheckOptions {
  bool timed = false;                           // also a few trial steps of each point, as `debias train --dry-run` takes them
  int64_t threads = 0;                          // of those steps, where a recipe leaves it to the program; 0: all that there are
  std::optional<std::set<size_t>> points = {};  // numbers of those that are looked at; nullopt: all
  AgentChecks agents = {};                      // empty: a sweep of agents is a usage error
};

using CheckedPoints = std::map<size_t, CheckedPoint>;  // by the point's number

// The recipe of a run of the point, every default written out, with the run's own seed and output.
Config recipe_of(const CheckedPoint& point, const SweepRun& run);

// Every point's data are opened and its network is built (once for all points that share it), as training does at its start, or an agent's
// environment; a run whose folder is there must train as it did. If points take the same time a step, such as those that differ in a
// temperature or a learning rate, one is timed. Throws what training would, with the sweep's file and the point in front, and usage errors
// for an output inside a data folder, and for a metric that no evaluation of such data measures. Writes nothing.
CheckedPoints check_sweep(const SweepPlan& plan, const SweepCheckOptions& options, Progress& progress, Log& log);

}  // namespace debias
