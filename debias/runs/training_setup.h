// Sets up a training as `debias train` does: opens and fingerprints the data sets of a recipe, and adds evaluations and estimates as
// observers.
//
//   TrainInput input;
//   input.recipe = read_recipe(read_recipe_config("demo/infonce", {"train.epochs=2", "output=runs/mine"}));
//   const TrainResult result = train(set_up_training(std::move(input)).input);
#pragma once

#include <memory>

#include "debias/core/config.h"
#include "debias/core/progress.h"
#include "debias/data/dataset.h"
#include "debias/runs/evaluated_data.h"
#include "debias/train/loop/trainer.h"

namespace debias {

struct TrainingSetup {
  TrainInput input;
  Config resolved;  // the recipe with all defaults
};

// `input` has the recipe, progress, log and ranks, and any other field that differs from its default. Opens the training set and, on rank
// 0, the evaluated sets. Adds `data`, `data_roots`, `kept_files` and the observers of the recipe's `evaluate:` section
// (make_training_evaluation(), sentence_evaluation.h) and of its option sources (make_option_estimates()). `input.progress` and `input.log` must
// outlive the result. Writes nothing. Usage and data errors: all those that training would report before its first step.
TrainingSetup set_up_training(TrainInput input);

// The recipe's `evaluate:` section as an observer of the training loop.

// Every `evaluate.every` epochs and at the end, computes the metrics of `evaluate.protocols` and writes their results to RUN/evaluation
// (protocol_evaluation.h). For a recipe with a classifier it adds "test.acc1" (and "valid.acc1"), the classifier's accuracy, unless the
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

// Estimates for a recipe's option sources (train/option_source.h), measured by an observer of the training loop.

// Measures "estimate.prior" from the labels of the training set (without labels "bound.prior", from two views of its images), and
// "estimate.macro_auc" and "estimate.augment" from two views of at most kPriorImages images, with the options of `evaluate.macro_auc`. Each
// is measured after the epochs at which a term uses it. An estimate that cannot be made is left out, with a line in `log`. Null for a
// recipe without option sources. Data error if macro_auc is requested and the training set has fewer than two classes.
std::shared_ptr<TrainObserver> make_option_estimates(const Recipe& recipe, std::shared_ptr<const Dataset> train, Progress& progress,
                                                     Log& log);

}  // namespace debias
