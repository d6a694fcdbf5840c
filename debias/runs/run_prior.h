// The class prior of a run's training set, from its labels and from two views under the run's encoder.
#pragma once

#include <cstdint>
#include <optional>

#include "debias/core/progress.h"
#include "debias/data/dataset.h"
#include "debias/evaluate/class_prior.h"
#include "debias/evaluate/protocol.h"
#include "debias/train/recipe/recipe.h"

namespace debias {

constexpr int64_t kPriorImages = 4096;  // maximum number of images whose views are compared

// Empty if fewer than two labels are known. A `sampler` in the recipe is taken into account, as for the recipe's method.
std::optional<PriorEstimate> prior_by_labels(const Dataset& train, const Recipe& recipe);

// From two training views of at most `images` of input.train's images, drawn with input.seed. Errors as for class_prior_from_views.
PriorEstimate prior_by_views(const EvaluationInput& input, int64_t images, Progress& progress);

}  // namespace debias
