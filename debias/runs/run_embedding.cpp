#include "debias/runs/run_embedding.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "debias/core/data_folder.h"
#include "debias/core/output_path.h"
#include "debias/data/data_roots.h"
#include "debias/data/dataset.h"
#include "debias/data/shown_names.h"
#include "debias/evaluate/features.h"
#include "debias/evaluate/name_file.h"
#include "debias/runtime/device.h"

namespace debias {
namespace {

enum class EmbeddedSplit { kTrain, kTest };

struct EmbeddedImages {
  std::shared_ptr<const Dataset> dataset;
  Features features;
};

// The data set that the request names, else the run's test set with the words laid over it.
ChosenData embedded_data(const LoadedRun& run, const DataWords& data) {
  if (!data.name.empty()) return read_data(named_section(data, ""));
  Config section = evaluated_data(run, data).test->section;
  for (const auto& word : data.words) section.assign(word);
  return read_data(section);
}

// What the encoder was trained with: the resolved recipe says it; one that does not means the constants of its own training set.
ViewPipeline views_of(const Recipe& recipe, const Dataset& embedded, bool is_own) {
  const bool says = recipe.view_steps.normalize.has_value();
  return embedding_views(recipe, says || !is_own ? embedded.info() : recipe.train_data.make_images()->info());
}

DataWords take_recipe_words(DataWords data, Config& recipe) {
  const auto is_recipes = [](const std::string& word) {
    return word.starts_with("views.") || word.starts_with("data.") || word.starts_with("evaluate.");
  };
  for (const auto& word : data.words) {
    if (is_recipes(word)) recipe.assign(word);
  }
  std::erase_if(data.words, is_recipes);
  return data;
}

// Outputs are none of the files that the data are read from, nor of those that the run consists of, and lie in no data folder.
void require_outputs(const LoadedRun& run, const Config& section, const std::string& out, const std::vector<std::string>& outputs) {
  const std::vector<std::string> roots = roots_of(section);
  for (const auto& path : embedding_paths(out)) refuse_inside_data(path, roots);
  std::vector<std::string> inputs = files_named_in(section);
  const std::vector<std::string> kept = run_files(run);
  inputs.insert(inputs.end(), kept.begin(), kept.end());
  refuse_overwriting("embed", outputs, inputs);
}

EmbeddedImages embedded_images(const EmbeddingRequest& request, EmbeddedSplit split, const std::vector<std::string>& outputs,
                               Progress& progress, Log& log) {
  const c10::Device device = resolve_device(request.device);
  LoadedRun run = load_run(request.run, request.which);
  require_image_run(run);
  const DataWords data = take_recipe_words(request.data, run.recipe);
  const Recipe recipe = read_recipe(run.recipe);
  const auto network = embedded_layer(run, request.layer);
  const ChosenData set = split == EmbeddedSplit::kTrain ? training_data(run, data) : embedded_data(run, data);
  require_outputs(run, set.section, request.out, outputs);
  DataWatch watch(recipe.verify, progress, log);
  EmbeddedImages images;
  images.dataset = watch.open(split == EmbeddedSplit::kTrain ? "train" : "test", set);
  const bool is_own = data.name.empty() && data.words.empty();
  if (is_own) require_unchanged(run, watch, request.data.words, request.data_change, log);
  images.dataset = in_numbers_of(run, std::move(images.dataset), log);
  const ViewPipeline views = views_of(recipe, *images.dataset, data.name.empty());
  network->to(device);
  const EncoderCopies copies = copies_beside(*network, [&] { return embedded_layer(load_run(request.run, request.which), request.layer); });
  const ExtractOptions options = ExtractOptions().workers(recipe.train.workers().value_or(1)).on_error(request.on_error);
  images.features = extract_features(*network, images.dataset, views, options, progress, copies);
  return images;
}

}  // namespace

void warn_of_skipped(const std::vector<std::string>& images, Log& log) {
  if (images.empty()) return;
  log.warn(fmt::format("embed: {} {} that cannot be read: no row for {}", images.size(), images.size() == 1 ? "image" : "images",
                       shown_names(images)));
}

RunEmbedding embed_run(const EmbeddingRequest& request, Progress& progress, Log& log) {
  std::vector<std::string> outputs = embedding_paths(request.out);
  outputs.push_back(name_path(request.out));
  const auto [dataset, features] = embedded_images(request, EmbeddedSplit::kTest, outputs, progress, log);
  RunEmbedding made{features.values.size(0), features.values.size(1), write_embeddings(request.out, features, *dataset, request.cells),
                    write_names(request.out, features, *dataset, request.cells), unreadable_sources(features, *dataset)};
  warn_of_skipped(made.skipped, log);
  return made;
}

BiasFeatureFile embed_bias_features(const EmbeddingRequest& request, Progress& progress, Log& log) {
  const std::string path = bias_feature_path(request.out);
  const auto [dataset, features] = embedded_images(request, EmbeddedSplit::kTrain, {path}, progress, log);
  return write_bias_features(path, features, *dataset);
}

}  // namespace debias
