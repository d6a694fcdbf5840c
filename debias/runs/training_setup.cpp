#include "debias/runs/training_setup.h"

#include "debias/evaluate/eval_views.h"
#include "debias/runs/evaluated_data.h"
#include "debias/runs/option_estimates.h"
#include "debias/runs/sentence_evaluation.h"
#include "debias/runs/training_evaluation.h"

namespace debias {
namespace {

// Rank 0's: the other ranks have nothing to evaluate, and receive its error.
void add_observers(TrainInput& input, const Config& resolved, DataWatch& watch) {
  const auto take = [&input](const std::shared_ptr<TrainObserver>& observer) {
    if (observer != nullptr) input.observers.push_back(observer);
  };
  take(make_evaluation(input.recipe, resolved, input.dataset, watch, *input.progress, *input.log));
  const auto images = images_of(input.dataset);
  if (images != nullptr) take(make_option_estimates(input.recipe, images, *input.progress, *input.log));
}

}  // namespace

TrainingSetup set_up_training(TrainInput input) {
  DataWatch watch(input.recipe.verify, *input.progress, *input.log);
  input.dataset = watch.open_samples("train", input.recipe.train_data);
  if (input.dataset->images() != nullptr) input.recipe.view_steps = with_eval_views(input.recipe.view_steps, input.dataset->info());
  keep_vocabulary(input);
  const Config resolved = resolve_recipe(input.recipe, *input.dataset);
  if (input.ranks->leads()) add_observers(input, resolved, watch);
  input.data = watch.record();
  input.data_roots = roots_of(data_of(input.recipe));
  return {std::move(input), resolved};
}

}  // namespace debias
