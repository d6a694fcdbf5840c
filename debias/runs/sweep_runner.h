// Runs a sweep: `debias train OUTPUT/RUN.yaml --resume`, or `debias rl train` for agents, for each run, several at a time.
//
//   const SweepPlan plan = read_sweep("small/cifar10.yaml", {}, find_recipe);
//   const CheckedPoints points = check_sweep(plan, {}, progress, log);
//   StopSignals signals;
//   require_finished(plan, run_sweep(plan, points, {.jobs = 2}, signals, log), {}, 0);
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "debias/core/progress.h"
#include "debias/process/stop_signals.h"
#include "debias/runs/sweep_check.h"
#include "debias/sweep/sweep_plan.h"
#include "debias/sweep/sweep_record.h"

namespace debias {

// Shard i of n: runs i, i + n, i + 2n, ..., counted from 1.
struct Shard {
  size_t number = 1, of = 1;

  bool has(size_t run) const { return run % of == number - 1; }
};

// True if the record has the run as finished and its checkpoint exists.
bool is_finished(const std::string& output, const RecordedRun& run);

// Numbers of the unfinished runs of the shard.
std::vector<size_t> runs_to_do(const SweepPlan& plan, const SweepRecord& record, const Shard& shard);

// Writes the recipe of a run to OUTPUT/RUN.yaml, beside its folder, and returns the arguments of `debias` that run it.
std::vector<std::string> write_run_recipe(const SweepPlan& plan, const SweepRun& run);

// The record in the plan's output, or an empty one if no run has begun. Writes nothing. Usage errors as for require_own_output().
SweepRecord sweep_record_if_any(const SweepPlan& plan);

// Numbers of the points with a run in the shard.
std::set<size_t> points_of(const SweepPlan& plan, const Shard& shard);

std::string size_text(const SweepPlan& plan);  // "12 runs (4 settings, 3 seeds each)"

struct SweepJobOptions {
  Shard shard = {};
  int jobs = 1;  // number of runs at a time, which share the processors
};

// Runs the unfinished runs of the shard, each as a process of the calling program, which must implement `train` and `rl train` as debias
// does. Continues after a failed run. On a signal, stops the runs in progress after they have saved (StopSignals::all_saved is false).
// Returns the record with the outcome of each. Usage error if another process works on the shard.
SweepRecord run_sweep(const SweepPlan& plan, const CheckedPoints& points, const SweepJobOptions& options, const StopSignals& signals,
                      Log& log);

// Throws a failure that names the first failed run of the shard, or kInterrupted if runs were stopped or `signal` is not 0.
void require_finished(const SweepPlan& plan, const SweepRecord& record, const Shard& shard, int signal);

}  // namespace debias
