// Runs the runs of a sweep: `debias train OUTPUT/RUN.yaml --resume`, or `debias rl train` of an agent, for each, some at a time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "apps/debias/stop_signals.h"
#include "debias/core/progress.h"
#include "debias/sweep/sweep_plan.h"
#include "debias/sweep/sweep_record.h"

namespace debias {

// One part of many: runs i, i + n, i + 2n, ... (from 1).
struct Shard {
  size_t number = 1, of = 1;

  bool has(size_t run) const { return run % of == number - 1; }
};

// Whether the record says so and the run's checkpoint is there.
bool is_finished(const std::string& output, const RecordedRun& run);

// Numbers of the shard's runs that are not finished.
std::vector<size_t> runs_to_do(const SweepPlan& plan, const SweepRecord& record, const Shard& shard);

// Writes the recipe of a run beside its folder, to OUTPUT/RUN.yaml, and returns the words after `debias` that run it.
std::vector<std::string> write_run_recipe(const SweepPlan& plan, const SweepRun& run);

// Goes on after a run that fails, and stops the runs in progress when a signal asks for it; the record says what became of each.
void run_sweep(const SweepPlan& plan, const std::vector<size_t>& to_do, int jobs, StopSignals& signals, Log& log);

}  // namespace debias
