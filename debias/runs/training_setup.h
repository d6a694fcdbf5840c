// Sets up a training as `debias train` does: opens and fingerprints the data sets of a recipe, and adds evaluations and estimates as
// observers.
//
//   TrainInput input;
//   input.recipe = read_recipe(read_recipe_config("demo/infonce", {"train.epochs=2", "output=runs/mine"}));
//   const TrainResult result = train(set_up_training(std::move(input)).input);
#pragma once

#include "debias/core/config.h"
#include "debias/train/loop/trainer.h"

namespace debias {

struct TrainingSetup {
  TrainInput input;
  Config resolved;  // the recipe with all defaults
};

// `input` has the recipe, progress, log and ranks, and any other field that differs from its default. Opens the training set and, on rank
// 0, the evaluated sets. Adds `data`, `data_roots`, `kept_files` and the observers of the recipe's `evaluate:` section
// (training_evaluation.h, sentence_evaluation.h) and of its option sources (option_estimates.h). `input.progress` and `input.log` must
// outlive the result. Writes nothing. Usage and data errors: all those that training would report before its first step.
TrainingSetup set_up_training(TrainInput input);

}  // namespace debias
