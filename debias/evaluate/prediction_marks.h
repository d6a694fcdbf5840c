// The marks of a protocol's predictions (debias/results/predictions.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/data/dataset.h"
#include "debias/evaluate/alignment_map.h"

namespace debias {

// One letter for each image; `predictions` as many. Without an alignment all are of neither side.
std::string prediction_marks(const Dataset& dataset, const std::vector<int64_t>& predictions, const AlignmentMap& alignment = {});

}  // namespace debias
