// Features of a bias model, as the training of another network uses them (`bias_features: FILE.npy`).
#pragma once

#include <cstdint>
#include <string>

#include "debias/evaluate/features.h"
#include "debias/runs/evaluated_data.h"

namespace debias {

// The training set of the run, or of the data set that `data` names, with the overrides of `data` applied. Usage error if neither is known.
ChosenData training_data(const LoadedRun& run, const DataWords& data);

// F.npy for F and F.npy; usage error for another extension.
std::string bias_feature_path(const std::string& out);

struct BiasFeatureFile {
  std::string path;
  int64_t rows = 0, dimensions = 0;
  int64_t empty_rows = 0;  // ids that are not in the data set, such as held-out ones; their rows are zero
};

// Writes float32 [largest id + 1, F] atomically; the row is the sample id.
BiasFeatureFile write_bias_features(const std::string& path, const Features& features, const Dataset& dataset);

}  // namespace debias
