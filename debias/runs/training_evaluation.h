// The recipe's `evaluate:` section as an observer of the training loop.
#pragma once

#include <memory>

#include "debias/core/progress.h"
#include "debias/data/dataset.h"
#include "debias/runs/evaluated_data.h"
#include "debias/train/loop/trainer.h"

namespace debias {

// Every `evaluate.every` epochs and at the end, computes the metrics of `evaluate.protocols` and writes their results to RUN/evaluation
// (evaluation_files.h). For a recipe with a classifier it adds "test.acc1" (and "valid.acc1"), the classifier's accuracy, unless the
// protocol `groups` reports it.
//
// Before training, some images of every evaluated set pass through views and encoder, so that errors show at once.
//
// A protocol is left out if the data lack its labels or bias labels, with a line in `log` before training. With `evaluate.on_error: stop`,
// or if `evaluate.select` needs the protocol, its own error is thrown.
//
// Null if there is nothing to evaluate. Opens the test (and valid) set. Usage error for a missing test set, or a `select` without a valid
// set. `resolved` is the recipe with all defaults.
std::shared_ptr<TrainObserver> make_training_evaluation(const Recipe& recipe, const Config& resolved, std::shared_ptr<const Dataset> train,
                                                        DataWatch& watch, Progress& progress, Log& log);

// The same for samples of any kind; sentences as in make_sentence_evaluation().
std::shared_ptr<TrainObserver> make_evaluation(const Recipe& recipe, const Config& resolved,
                                               const std::shared_ptr<const SampleTable>& train, DataWatch& watch, Progress& progress,
                                               Log& log);

}  // namespace debias
