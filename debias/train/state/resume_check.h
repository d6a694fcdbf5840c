// Checks a resumed run against the start that its checkpoint records.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/core/progress.h"
#include "debias/train/state/checkpoint.h"
#include "debias/train/state/data_record.h"

namespace debias {

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

}  // namespace debias
