// The class prior of a run's training set, by its labels and by the run's encoder.
#pragma once

#include <cstdint>
#include <optional>

#include "debias/core/progress.h"
#include "debias/data/dataset.h"
#include "debias/evaluate/class_prior.h"
#include "debias/evaluate/protocol.h"
#include "debias/train/recipe/recipe.h"

namespace debias {

constexpr int64_t kPriorImages = 4096;  // whose views are compared, at most

// Empty where fewer than two labels are known. With a `sampler` in the recipe, as it draws them for the recipe's method.
std::optional<PriorEstimate> prior_by_labels(const Dataset& train, const Recipe& recipe);

// From two training views of at most `images` of input.train's images, drawn by input.seed. Errors as of class_prior_from_views.
PriorEstimate prior_by_views(const EvaluationInput& input, int64_t images, Progress& progress);

}  // namespace debias
