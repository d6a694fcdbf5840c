// A training as `debias train` has it: the data sets of a recipe opened and fingerprinted, its evaluations and its estimates as observers.
//
//   TrainInput input;
//   input.recipe = read_checked_recipe(read_recipe_config("demo/infonce", {"train.epochs=2", "output=runs/mine"}));
//   const TrainResult result = train(set_up_training(std::move(input)).input);
#pragma once

#include "debias/core/config.h"
#include "debias/train/loop/trainer.h"

namespace debias {

// The recipe, checked as far as it can be without its data. One usage error names all mistakes that show (core/mistakes.h).
Recipe read_checked_recipe(const Config& config);

struct TrainingSetup {
  TrainInput input;
  Config resolved;  // the recipe with every default written out
};

// `input` has the recipe, and whatever else is not to be as TrainInput has it; progress, log and ranks with it. Opens the training set and,
// on the rank that leads, the evaluated sets; adds `data`, `data_roots`, `kept_files` and the observers: the recipe's `evaluate:` section
// (training_evaluation.h, sentence_evaluation.h) and its option sources (option_estimates.h). `input.progress` and `input.log` must
// outlive it. Writes nothing. Usage and data errors: all that training would reject before its first step.
TrainingSetup set_up_training(TrainInput input);

}  // namespace debias
