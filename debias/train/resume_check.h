// What a run that goes on is compared with: the checkpoint knows how it began.
#pragma once

#include <string>

#include "debias/core/progress.h"
#include "debias/train/checkpoint.h"
#include "debias/train/data_record.h"

namespace debias {

// Data errors: a training state beyond `epochs`, as only an altered file has.
void require_possible(const OpenCheckpoint& checkpoint, int64_t epochs);

struct ResumeCheck {
  bool forgets_best = false;          // values of `evaluate.select` from before cannot be compared with those to come
  std::vector<std::string> accepted;  // changes of the data, those from before first
};

// Refuses a run that would go on otherwise than it began, naming the first difference: a usage error where the recipe trains otherwise, a
// data error where classes or bias values have other names or numbers, or (with kRefuse) where the data are others. What may change and
// did is said to `log`.
ResumeCheck check_resume(const OpenCheckpoint& checkpoint, const RunDescription& now, const std::string& run_folder, DataChange data_change,
                         Log& log);

}  // namespace debias
