#include "debias/train/loop/trainer.h"

#include "debias/train/loop/encoder_training.h"
#include "debias/train/state/rank_resume.h"

namespace debias {

TrainResult train(const TrainInput& input) {
  const Recipe& recipe = input.recipe;
  const LoopRecipe loop = {.output = recipe.output,
                           .resolved = resolve_recipe(recipe, *input.dataset),
                           .epochs = recipe.train.epochs,
                           .checkpoint_every = recipe.train.checkpoint_every,
                           .on_full_disk = recipe.train.on_full_disk,
                           .select = recipe.evaluate.select,
                           .on_evaluation_error = recipe.evaluate.on_error};
  require_same_training(loop.resolved, input.data, *input.ranks);
  EncoderTraining training(input);
  return run_training(training, loop, {name_table(*input.dataset), input.data, input.data_change, input.data_roots}, input);
}

}  // namespace debias
