// A run's data sets as a feature table on disk.
#pragma once

#include <string>

#include "debias/core/progress.h"
#include "debias/features/feature_table.h"

namespace debias {

struct RunToEmbed {
  std::string path, root, which = "last", device = "auto";
};

// Writes features.npy and features.csv (path, label, bias, split) of the run's train, valid and test sets into `folder`; returns them.
// Errors as for `debias eval RUN`.
FeatureTableFiles embed_table(const RunToEmbed& run, const std::string& folder, Progress& progress, Log& log);

}  // namespace debias
