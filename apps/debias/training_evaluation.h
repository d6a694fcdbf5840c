// The recipe's `evaluate:` section as an observer of the training loop.
#pragma once

#include <memory>

#include "debias/core/progress.h"
#include "debias/data/dataset.h"
#include "debias/train/trainer.h"

namespace debias {

// Null when no protocol is asked for. Opens the test (and valid) set; usage errors for unknown protocols or options, a missing test set,
// or a `select` without a valid set. `resolved`: the recipe with every default written out.
std::shared_ptr<TrainObserver> make_training_evaluation(const Recipe& recipe, const Config& resolved, std::shared_ptr<const Dataset> train,
                                                        Progress& progress);

}  // namespace debias
