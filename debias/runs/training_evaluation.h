// The recipe's `evaluate:` section as an observer of the training loop.
#pragma once

#include <memory>

#include "debias/core/progress.h"
#include "debias/data/dataset.h"
#include "debias/runs/judged_run.h"
#include "debias/train/loop/trainer.h"

namespace debias {

// Every `evaluate.every` epochs and at the end: the metrics of `evaluate.protocols`, whose results are also written to RUN/evaluation
// (evaluation_files.h); and for a recipe with a classifier "test.acc1" (and "valid.acc1"), the share of samples whose largest logit is
// their label's, unless the protocol `groups` reports it.
//
// Before training, some images of every evaluated set pass the views and the encoder, so that what cannot be evaluated is found at once.
//
// A protocol whose labels or bias labels the data lack is left out, which `log` hears before training; with `evaluate.on_error: stop`, or
// where `evaluate.select` needs it, that is the protocol's own error.
//
// Null where there is nothing to evaluate. Opens the test (and valid) set; usage errors for unknown protocols or options, a missing test
// set, or a `select` without a valid set. `resolved`: the recipe with every default written out.
std::shared_ptr<TrainObserver> make_training_evaluation(const Recipe& recipe, const Config& resolved, std::shared_ptr<const Dataset> train,
                                                        DataWatch& watch, Progress& progress, Log& log);

// The same for samples of any kind: sentences as of make_sentence_evaluation().
std::shared_ptr<TrainObserver> make_evaluation(const Recipe& recipe, const Config& resolved,
                                               const std::shared_ptr<const SampleTable>& train, DataWatch& watch, Progress& progress,
                                               Log& log);

}  // namespace debias
