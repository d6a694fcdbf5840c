// How well the classifier that is trained beside the encoder does on images it has not seen, as an observer of the training loop.
#pragma once

#include <memory>

#include "debias/core/progress.h"
#include "debias/data/dataset.h"
#include "debias/train/trainer.h"

namespace debias {

// "test.acc1" (and "valid.acc1"): the share of samples whose largest logit is their label's, every `evaluate.every` epochs and at the end.
// Null for a recipe without a classifier or without data.test, and where the protocol `groups` reports acc1 at the same epochs.
std::shared_ptr<TrainObserver> make_online_accuracy(const Recipe& recipe, std::shared_ptr<const Dataset> train, Progress& progress);

}  // namespace debias
