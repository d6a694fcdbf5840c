// Predictions of a fixed model, row by row.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/features/feature_table.h"
#include "debias/fix/fix.h"

namespace debias {

// The class that the head gives to each row, a place in model.classes; the layer is in it.
std::vector<int64_t> predictions_of(const FixedModel& model, const FeatureVectors& vectors);

// CSV `path,label,bias,split,before,after`, a line for each row of the table: names of the classes that the plain head and the fixed model
// give to it. Rows without names have an empty path.
void write_predictions(const std::string& path, const FeatureTable& table, const FixResult& result);

// Writes the layer's output for every row as a float32 array [n, D] to `out`, in blocks of rows and atomically. Throws a data error if the
// vectors have another number of dimensions.
void write_fixed_features(const FixedModel& model, const FeatureVectors& vectors, const std::string& out);

}  // namespace debias
