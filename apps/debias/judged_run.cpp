#include "apps/debias/judged_run.h"

#include "debias/core/error.h"
#include "debias/train/recipe.h"

namespace debias {
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
  JudgedData sections{recipe.train_data, recipe.valid_data, recipe.test_data};
  for (Config* section : {&sections.train, &sections.valid, &sections.test}) {
    if (!data.root.empty() && !section->is_null()) section->set("root", Config::string(data.root));
  }
  return sections;
}

std::vector<std::string> roots_of(const std::vector<Config>& sections) {
  std::vector<std::string> roots;
  for (const Config& section : sections) {
    const Config* root = section.find("root");
    if (root != nullptr && root->is_scalar() && !root->text().empty()) roots.push_back(root->text());
  }
  return roots;
}

EvaluationInput open_for_evaluation(const LoadedRun& run, const JudgedData& data) {
  const Recipe recipe = read_recipe(run.recipe);
  EvaluationInput input;
  input.encoder = run.encoder;
  if (run.classifier != nullptr) {
    input.classifier = [classifier = run.classifier](const at::Tensor& features) {
      const at::NoGradGuard no_grad;
      return classifier->logits(features.unsqueeze(1)).cpu();
    };
  }
  input.seed = run.seed;
  input.training_temperature = training_temperature(run.recipe);
  input.workers = recipe.train.workers().value_or(input.workers);
  input.train_views = recipe.views_section;
  if (!recipe.eval_views.is_null()) input.train_views.set("eval", recipe.eval_views);
  input.train = make_dataset(data.train);
  if (!data.valid.is_null()) input.valid = make_dataset(data.valid);
  input.test = make_dataset(data.test);
  return input;
}

}  // namespace debias
