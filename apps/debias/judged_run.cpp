#include "apps/debias/judged_run.h"

#include "debias/core/error.h"
#include "debias/train/recipe.h"

namespace debias {

Config data_section(const DataWords& data, const std::string& split) {
  Config section = Config::map({{"name", Config::string(data.name)}});
  if (!data.root.empty()) section.set("root", Config::string(data.root));
  for (const auto& word : data.words) section.assign(word);
  if (!split.empty() && section.find("split") == nullptr) section.set("split", Config::string(split));
  return section;
}

EvaluationInput open_for_evaluation(const LoadedRun& run, const DataWords& data) {
  const Recipe recipe = read_recipe(run.recipe);
  EvaluationInput input;
  input.encoder = run.encoder;
  input.seed = run.seed;
  input.train_views = recipe.views_section;
  if (!recipe.eval_views.is_null()) input.train_views.set("eval", recipe.eval_views);
  if (const Config* temperature = recipe.objective[0].section.find("temperature")) {
    parse_number(temperature->text(), &input.training_temperature);
  }
  if (!data.name.empty()) {
    input.train = make_dataset(data_section(data, "train"));
    input.test = make_dataset(data_section(data, "test"));
    return input;
  }
  if (recipe.test_data.is_null()) {
    throw usage_error("evaluating '{}': its recipe has no data.test; give a data set with --data NAME --root DIR", run.checkpoint);
  }
  input.train = make_dataset(recipe.train_data);
  if (!recipe.valid_data.is_null()) input.valid = make_dataset(recipe.valid_data);
  input.test = make_dataset(recipe.test_data);
  return input;
}

}  // namespace debias
