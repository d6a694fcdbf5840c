#include "apps/debias/judged_run.h"

#include "debias/core/error.h"
#include "debias/train/recipe.h"

namespace debias {

JudgedData data_of(const Recipe& recipe) { return {recipe.train_data, recipe.valid_data, recipe.test_data}; }

double training_temperature(const Config& resolved_recipe) {
  for (const auto& term : read_recipe(resolved_recipe).objective) {
    const Config* temperature = term.section.find("temperature");
    double value;
    if (temperature != nullptr && temperature->is_scalar() && parse_number(temperature->text(), &value)) return value;
  }
  return EvaluationInput().training_temperature;
}

Config named_section(const DataWords& data, const std::string& split) {
  Config section = Config::map({{"name", Config::string(data.name)}});
  if (!data.root.empty()) section.set("root", Config::string(data.root));
  for (const auto& word : data.words) section.assign(word);
  if (!split.empty()) section.set("split", Config::string(split));
  return section;
}

JudgedData judged_data(const LoadedRun& run, const DataWords& data) {
  if (!data.name.empty()) return {named_section(data, "train"), Config(), named_section(data, "test")};
  if (run.folder.empty()) {
    throw usage_error("opening checkpoint '{}': it lies in no run folder, so its data are not known; give --data NAME --root DIR",
                      run.checkpoint);
  }
  const Recipe recipe = read_recipe(run.recipe);
  if (recipe.test_data.is_null()) {
    throw usage_error("opening run '{}': its recipe has no data.test; add data.test='{{name: ...}}', or give --data NAME --root DIR",
                      run.folder);
  }
  JudgedData sections = data_of(recipe);
  for (Config* section : {&sections.train, &sections.valid, &sections.test}) {
    if (!data.root.empty() && !section->is_null()) section->set("root", Config::string(data.root));
  }
  return sections;
}

std::vector<std::string> roots_of(const JudgedData& data) {
  std::vector<std::string> roots;
  for (const Config* section : {&data.train, &data.valid, &data.test}) {
    const Config* root = section->find("root");
    if (root != nullptr && root->is_scalar() && !root->text().empty()) roots.push_back(root->text());
  }
  return roots;
}

EvaluationInput evaluation_input(const Recipe& recipe, const JudgedData& data, std::shared_ptr<const Dataset> train) {
  EvaluationInput input;
  input.train = train != nullptr ? std::move(train) : make_dataset(data.train);
  if (!data.valid.is_null()) input.valid = make_dataset(data.valid);
  if (!data.test.is_null()) input.test = make_dataset(data.test);
  input.train_views = recipe.views_section;
  if (!recipe.eval_views.is_null()) input.train_views.set("eval", recipe.eval_views);
  input.seed = recipe.seed;
  input.on_error = recipe.on_error;
  input.workers = recipe.train.workers().value_or(input.workers);
  return input;
}

EvaluationInput open_for_evaluation(const LoadedRun& run, const JudgedData& data) {
  EvaluationInput input = evaluation_input(read_recipe(run.recipe), data);
  input.encoder = run.encoder;
  if (run.classifier != nullptr) {
    input.classifier = [classifier = run.classifier](const at::Tensor& features) {
      const at::NoGradGuard no_grad;
      return classifier->logits(features.unsqueeze(1)).cpu();
    };
  }
  input.seed = run.seed;
  input.training_temperature = training_temperature(run.recipe);
  return input;
}

}  // namespace debias
