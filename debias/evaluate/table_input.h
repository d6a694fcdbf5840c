// A feature table as input of protocols: its vectors replace those of an encoder.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "debias/evaluate/protocol.h"
#include "debias/features/bias_groups.h"
#include "debias/features/feature_table.h"

namespace debias {

// kNN's temperature for features that no run of ours has trained.
constexpr double kTableTemperature = 0.1;

// Train, valid and test rows. A table with training rows alone is evaluated on them, as `test`, each row left out of its own neighbours.
// The protocols read vectors of a split into memory, in float32. Bias labels are `bias`; without it those of joint_bias() of all bias
// columns.
EvaluationInput table_input(const FeatureTable& table, uint64_t seed, std::optional<JointBias> bias = {});

// float32 [places.size(), D] of these rows of the table, with labels and joint bias labels.
Features table_features(const FeatureTable& table, const Dataset& rows, const std::vector<int64_t>& places);

}  // namespace debias
