#include "debias/runs/run_embedding.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/npy.h"
#include "debias/core/paths.h"
#include "debias/data/dataset.h"
#include "debias/data/dataset_registry.h"
#include "debias/data/name_table.h"
#include "debias/data/shown_names.h"
#include "debias/evaluate/embedding_file.h"
#include "debias/evaluate/eval_views.h"
#include "debias/runtime/device.h"

namespace debias {
namespace {

enum class EmbeddedSplit { kTrain, kTest };

struct EmbeddedImages {
  std::shared_ptr<const Dataset> dataset;
  Features features;
  std::vector<std::string> notes;
};

// The data set that the request names, else the run's test set with the words laid over it.
ChosenData embedded_data(const LoadedRun& run, const DataWords& data) {
  if (!data.name.empty()) return named_data(run, data, "");
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
  watch.add_groups(request.groups);
  EmbeddedImages images;
  images.dataset = watch.open(split == EmbeddedSplit::kTrain ? "train" : "test", set);
  images.notes = images.dataset->info().remarks;
  std::ranges::copy(watch.notes(), std::back_inserter(images.notes));
  const bool is_own = data.name.empty() && data.words.empty();
  if (is_own) require_unchanged(run, watch, request.data.words, request.data_change, log);
  images.dataset = in_numbers_of(run, std::move(images.dataset), log);
  const ViewPipeline views = views_of(recipe, *images.dataset, data.name.empty());
  network->to(device);
  const EncoderCopies copies = copies_beside(*network, [&] { return embedded_layer(load_run(request.run, request.which), request.layer); });
  const ExtractOptions options{.workers = recipe.train.workers.value_or(1), .on_error = request.on_error};
  images.features = extract_features(*network, images.dataset, views, options, progress, copies);
  return images;
}

}  // namespace

void warn_of_skipped(const std::vector<std::string>& images, Log& log) {
  if (images.empty()) return;
  log.warn(fmt::format("embed: {} {} that cannot be read: no row for {}", images.size(), images.size() == 1 ? "image" : "images",
                       shown_names(images)));
}

std::string note_on_skipped(const std::vector<std::string>& images, const Dataset& dataset) {
  if (images.empty()) return "";
  std::string reason;
  for (int64_t i = 0; i < dataset.size() && reason.empty(); ++i) {
    if (dataset.source(i) != images.front()) continue;
    try {
      dataset.get(i);
      reason = "it can be read now";
    } catch (const FileError& error) {
      reason = error.reason();
    }
  }
  return fmt::format("{} of {} images cannot be read and have no row: {} (first {})", images.size(), dataset.size(), reason,
                     images.front());
}

RunEmbedding embed_run(const EmbeddingRequest& request, Progress& progress, Log& log) {
  std::vector<std::string> outputs = embedding_paths(request.out);
  outputs.push_back(name_path(request.out));
  auto [dataset, features, notes] = embedded_images(request, EmbeddedSplit::kTest, outputs, progress, log);
  std::vector<std::string> skipped = unreadable_sources(features, *dataset);
  if (std::string note = note_on_skipped(skipped, *dataset); !note.empty()) notes.push_back(std::move(note));
  RunEmbedding made{features.values.size(0),
                    features.values.size(1),
                    write_embeddings(request.out, features, *dataset, request.cells),
                    write_names(request.out, features, *dataset, request.cells),
                    std::move(skipped),
                    std::move(notes)};
  warn_of_skipped(made.skipped, log);
  return made;
}

BiasFeatureFile embed_bias_features(const EmbeddingRequest& request, Progress& progress, Log& log) {
  const std::string path = bias_feature_path(request.out);
  const auto [dataset, features, notes] = embedded_images(request, EmbeddedSplit::kTrain, {path}, progress, log);
  return write_bias_features(path, features, *dataset);
}

namespace {

class EncoderWithHead final : public Encoder {
 public:
  EncoderWithHead(std::shared_ptr<Encoder> encoder, std::shared_ptr<Head> head)
      : encoder_(register_module("encoder", std::move(encoder))), head_(register_module("head", std::move(head))) {}

  torch::Tensor forward(const torch::Tensor& images) override { return head_->forward(encoder_->forward(images)); }
  int64_t feature_dim() const override { return head_->output_dim(); }
  std::string registry_name() const override { return encoder_->registry_name(); }

 private:
  std::shared_ptr<Encoder> encoder_;
  std::shared_ptr<Head> head_;
};

}  // namespace

Layer layer_named(const std::string& word) { return read_value<Layer>(Config::scalar(word), "embed: --layer"); }

std::shared_ptr<Encoder> embedded_layer(const LoadedRun& run, Layer layer) {
  if (layer == Layer::kEncoder) return run.encoder;
  if (!run.has_head) {
    throw usage_error("embed: the run has no head, so that its projection is the encoder's output; leave out --layer");
  }
  return std::make_shared<EncoderWithHead>(run.encoder, run.head);
}

ViewPipeline embedding_views(const Recipe& recipe, const DatasetInfo& normalised_as) {
  return eval_views(recipe.view_steps, normalised_as);
}

ChosenData training_data(const LoadedRun& run, const DataWords& data) {
  if (!data.name.empty()) return named_data(run, data, "");
  if (run.folder.empty()) {
    throw usage_error("opening checkpoint '{}': it is in no run folder, so its data are not known; give --data NAME --root DIR",
                      run.checkpoint);
  }
  Config section = read_recipe(run.recipe).train_data.section;
  if (!data.root.empty()) section.set("root", Config::string(data.root));
  for (const auto& word : data.words) section.assign(word);
  return read_data(section);
}

std::string bias_feature_path(const std::string& out) {
  const std::string ending = std::filesystem::path(out).extension();
  if (ending == ".npy") return out;
  if (ending == ".csv") throw usage_error("embed: --bias-features writes an array, and '{}' is a table; give --out F.npy", out);
  return out + ".npy";
}

BiasFeatureFile write_bias_features(const std::string& path, const Features& features, const Dataset& dataset) {
  std::vector<int64_t> ids;
  for (const int64_t index : features.indices) ids.push_back(dataset.id(index));
  const int64_t rows = *std::max_element(ids.begin(), ids.end()) + 1;
  std::vector<bool> taken(rows, false);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (taken[ids[i]]) throw data_error("embed: two images of data set '{}' have the id {}", dataset.info().name, ids[i]);
    taken[ids[i]] = true;
  }
  const at::Tensor table = at::zeros({rows, features.values.size(1)}, at::kFloat);
  table.index_copy_(0, at::tensor(ids, at::kLong), features.values);
  write_npy(path, DType::kFloat32, {rows, table.size(1)}, table.const_data_ptr());
  return {path, rows, table.size(1), rows - std::ssize(ids)};
}

namespace {

std::string name_of(const std::vector<std::string>& names, int64_t number) {
  return number == kUnknown ? "" : csv_field(value_name(names, number), CsvCells::kGuarded);
}

// Rows whose label is known; a feature table has no others.
at::Tensor add_rows(const std::string& split, const Dataset& dataset, const Features& features, bool with_groups, std::string& csv) {
  std::vector<int64_t> kept;
  for (size_t i = 0; i < features.labels.size(); ++i) {
    if (features.labels[i] == kUnknown) continue;
    kept.push_back(static_cast<int64_t>(i));
    const std::string path = fmt::format("{}/{}", split, dataset.source(features.indices[i]));  // sets may share names
    csv += fmt::format("{},{},{},{}{}\n", csv_field(path, CsvCells::kGuarded), name_of(dataset.info().class_names, features.labels[i]),
                       name_of(dataset.info().bias_names, features.biases[i]), split,
                       with_groups ? "," + group_field(dataset, features.indices[i], CsvCells::kGuarded) : "");
  }
  return features.values.index_select(0, at::tensor(kept, at::kLong));
}

}  // namespace

FeatureTableFiles embed_table(const RunToEmbed& asked, const std::string& folder, Progress& progress, Log& log) {
  const c10::Device device = resolve_device(asked.device);
  const LoadedRun run = load_run(asked.path, asked.which);
  require_image_run(run);
  const EvaluatedData data = evaluated_data(run, {.name = "", .root = asked.root, .words = {}});
  DataWatch watch(read_recipe(run.recipe).verify, progress, log);
  watch.add_groups(asked.groups);
  const EvaluationInput input = open_for_evaluation(run, data, watch, log);
  run.encoder->to(device);
  EvaluationCache cache(input, progress);
  bool with_groups = !input.train->info().group_names.empty();
  for (const auto& evaluated : evaluated_splits(input)) with_groups |= !evaluated.dataset->info().group_names.empty();
  std::string csv = with_groups ? "path,label,bias,split,group\n" : "path,label,bias,split\n";
  std::vector<at::Tensor> parts = {add_rows("train", *input.train, cache.train(), with_groups, csv)};
  for (const auto& evaluated : evaluated_splits(input))
    parts.push_back(add_rows(evaluated.name, *evaluated.dataset, cache.split(evaluated.name), with_groups, csv));
  const at::Tensor all = at::cat(parts, 0);
  const std::string vectors = folder + "/features.npy", rows = folder + "/features.csv";
  write_npy(vectors, DType::kFloat32, all.sizes().vec(), all.const_data_ptr());
  write_file_atomically(rows, csv);
  return FeatureTableFiles{.vectors = vectors, .csv = rows};
}

}  // namespace debias
