#include "debias/runs/preprocess.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include "debias/core/error.h"
#include "debias/data/dataset_registry.h"
#include "debias/encoders/state.h"
#include "debias/evaluate/eval_views.h"
#include "debias/train/recipe/recipe.h"

namespace debias {
namespace {

using Json = nlohmann::ordered_json;

// The size that comes out of images of any size; nothing where it depends on theirs.
std::optional<std::pair<int, int>> fixed_size(const ViewPipeline& views) {
  const auto tall = views.output_size(307, 211), wide = views.output_size(211, 307);
  if (tall != wide || tall.first == 0) return std::nullopt;
  return tall;
}

Json resize_of(const Config& views) {
  for (const Config& step : views.find("steps")->items()) {
    if (const Config* resize = step.find("resize")) return resize->find("size")->to_json();
  }
  return nullptr;
}

// One value serves all channels.
std::vector<double> for_each_channel(std::vector<double> values, int64_t channels) {
  if (values.size() == 1) values.resize(channels, values.front());
  return values;
}

std::optional<std::vector<std::string>> recorded_classes(const std::string& folder) {
  const std::string path = folder + "/classes.json";
  if (folder.empty() || !std::filesystem::exists(path)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  const Json json = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("classes") || !json["classes"].is_array()) {
    throw data_error("{}: expected {{\"classes\": [names], ...}}; remove it, and the names come from the data set", path);
  }
  std::vector<std::string> names;
  for (const Json& name : json["classes"]) names.push_back(name.is_string() ? name.get<std::string>() : name.dump());
  return names;
}

std::unique_ptr<const Dataset> training_set(const Recipe& recipe, std::vector<std::string>& remarks) {
  try {
    return recipe.train_data.make_images();
  } catch (const Error& error) {
    remarks.push_back(fmt::format("preprocess.json lacks what only the training set says: {}", error.what()));
    return nullptr;
  }
}

}  // namespace

Preprocess preprocess(const LoadedRun& run) {
  const Recipe recipe = read_recipe(run.recipe);
  const ViewPipeline views = eval_views(recipe.view_steps, DatasetInfo());
  auto size = fixed_size(views);
  auto classes = recorded_classes(run.folder);
  Preprocess result;
  if (!size || !classes) {
    if (const auto dataset = training_set(recipe, result.remarks)) {
      const DatasetInfo& info = dataset->info();
      if (!size && info.height > 0 && info.width > 0) size = views.output_size(info.height, info.width);
      if (!classes) classes = info.class_names;
    }
  }
  const Config resolved = views.config();
  result.json["size"] = size ? Json({size->first, size->second}) : Json();
  result.json["resize"] = resize_of(resolved);
  result.json["mean"] = for_each_channel(views.mean(), run.channels);
  result.json["std"] = for_each_channel(views.std(), run.channels);
  if (classes) result.json["classes"] = *classes;
  result.json["steps"] = resolved.find("steps")->to_json();
  return result;
}

}  // namespace debias
