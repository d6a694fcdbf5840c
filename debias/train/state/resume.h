// The start of a resumed run: its checks against the checkpoint, also where only rank 0 sees the folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/core/progress.h"
#include "debias/ranks/ranks.h"
#include "debias/train/state/checkpoint.h"
#include "debias/train/state/training_state.h"

namespace debias {

// Checks a resumed run against the start that its checkpoint records.

// Data errors: a training state beyond `epochs`, as only an altered file has.
void require_possible(const OpenCheckpoint& checkpoint, int64_t epochs);

struct TrainingShape {
  int64_t batches = 0;  // of an epoch
  size_t terms = 0;
};

// Likewise: a place behind the epoch's last batch, or the diagnostics of other terms. `run` is its folder, for the message.
void require_fitting(const OpenCheckpoint& checkpoint, const TrainingShape& shape, const std::string& run);

// Describes changes that may affect the last digits of results: other threads, instructions or number of processes.
std::vector<std::string> changes_of_machine(const TrainingState& then, int64_t ranks);

struct ResumeCheck {
  bool forgets_best = false;          // values of `evaluate.select` from before cannot be compared with those to come
  std::vector<std::string> accepted;  // changes of the data, those from before first
};

// Rejects a run that would resume otherwise than it began, naming the first difference: a usage error where the recipe trains otherwise, a
// data error where classes or bias labels have other names or numbers, or (with kRefuse) if the data are others. Allowed changes are
// logged.
ResumeCheck check_resume(const OpenCheckpoint& checkpoint, const RunDescription& now, const std::string& run_folder, DataChange data_change,
                         Log& log);

// Start of a resumed run if only rank 0 sees the run's folder.

// The checkpoint that rank 0 has at `path`, on every other rank: its bytes cross, into memory. To be called by all of them.
void give_checkpoint(const std::string& path, const Ranks& ranks);
OpenCheckpoint take_checkpoint(const Ranks& ranks);

// Rejects ranks that would not train the same: of another version, recipe (except for keys that change nothing) or training images.
void require_same_training(const Config& recipe, const DataRecord& data, const Ranks& ranks);

// Checks that all ranks have the same parameters; a failure names the rank. `when`: "at the start".
void require_same_weights(const NamedTensors& weights, const std::string& when, const Ranks& ranks);

}  // namespace debias
