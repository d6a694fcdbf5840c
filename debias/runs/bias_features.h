// Features of a network that sees the bias, as the training of another one reads them (`bias_features: FILE.npy`).
#pragma once

#include <cstdint>
#include <string>

#include "debias/evaluate/features.h"
#include "debias/runs/judged_run.h"

namespace debias {

// The training set of the run, or of the data set that `data` names, with `data`'s words laid over it. A usage error where neither is
// known.
Config training_section(const LoadedRun& run, const DataWords& data);

// F.npy for F and F.npy; a usage error for another ending.
std::string bias_feature_path(const std::string& out);

struct BiasFeatureFile {
  std::string path;
  int64_t rows = 0, dimensions = 0;
  int64_t empty_rows = 0;  // ids that the data set does not have, held-out ones for instance; zeros
};

// float32 [largest id + 1, F], row = sample id, atomically.
BiasFeatureFile write_bias_features(const std::string& path, const Features& features, const Dataset& dataset);

}  // namespace debias
