#include "debias/runs/loaded_run.h"

#include <filesystem>

#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/paths.h"
#include "debias/data/dataset.h"
#include "debias/encoders/state.h"
#include "debias/results/run_files.h"
#include "debias/train/state/checkpoint.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

std::string checkpoint_of(const std::string& folder, const std::string& which) {
  const std::string path = folder + "/checkpoints/" + which + ".safetensors";
  if (fs::exists(path)) return path;
  const std::string previous = folder + "/checkpoints/previous.safetensors";
  if (which == "last" && fs::exists(previous)) return previous;
  throw data_error("opening run '{}': it has no checkpoints/{}.safetensors{}", folder, which,
                   which == "best" ? "; `best` exists only with evaluate.select" : "; train it first");
}

// The channels that the first convolution under a prefix reads; 0 where there is none.
int64_t channels_under(const SafetensorsFile& file, const std::string& prefix) {
  const TensorEntry* first = file.find(prefix + "conv1.weight");
  if (first != nullptr && first->shape.size() == 4) return first->shape[1];
  for (const auto& entry : file.tensors()) {
    if (entry.name.starts_with(prefix) && entry.shape.size() == 4) return entry.shape[1];
  }
  return 0;
}

// Of the tables of f and g, which have a row a word; 0 where they are none.
int64_t words_of_tables(const SafetensorsFile& file) {
  const TensorEntry* table = file.find("encoder.f.embedding");
  return table == nullptr || table->shape.size() != 2 ? 0 : table->shape[0];
}

// Of the images. An encoder of any architecture has an option that says it; two networks that share the images (method cmc) read a part of
// the channels each.
int64_t channels_of(const ChosenEncoder& encoder, const SafetensorsFile& file) {
  if (encoder.channels) return *encoder.channels;
  const int64_t second = channels_under(file, "encoder.second.");
  const int64_t channels = second > 0 ? channels_under(file, "encoder.first.") + second : channels_under(file, "encoder.");
  if (channels == 0) throw data_error("opening checkpoint '{}': it has no convolution of an encoder", file.path());
  return channels;
}

// Ahead of what opening it as safetensors would say of its header.
void require_checkpoint(const std::string& path) {
  const ForeignFile foreign = foreign_file(InputFile(path));
  if (foreign.what.empty()) return;
  throw data_error("opening '{}': it is {}, and a run folder or a .safetensors checkpoint is needed; {}", path, foreign.what,
                   foreign.advice);
}

}  // namespace

LoadedRun load_run(const std::string& path, const std::string& which) {
  LoadedRun run;
  if (!fs::exists(path)) throw data_error("opening '{}': no such run folder or checkpoint{}", path, start_of(path));
  if (fs::is_directory(path)) {
    if (!fs::exists(path + "/config.yaml")) throw data_error("opening '{}': not a run folder (no config.yaml)", path);
    run.folder = fs::path(path).lexically_normal().string();
    if (run.folder.size() > 1 && run.folder.back() == '/') run.folder.pop_back();
    run.checkpoint = checkpoint_of(run.folder, which);
  } else {
    require_checkpoint(path);
    run.checkpoint = path;
    const fs::path above = fs::absolute(path).parent_path();
    if (above.filename() == "checkpoints" && fs::exists(above.parent_path() / "config.yaml")) run.folder = above.parent_path().string();
  }
  const OpenCheckpoint checkpoint = open_checkpoint(run.checkpoint);
  run.recipe = run.folder.empty() ? parse_yaml(checkpoint.recipe_yaml, run.checkpoint) : read_yaml_file(run.folder + "/config.yaml");
  run.epoch = checkpoint.state.epoch;
  run.names = checkpoint.names;
  run.data = checkpoint.data;
  Recipe recipe = read_recipe(run.recipe);
  run.words = words_of_tables(checkpoint.file);
  recipe.encoder = recipe.encoder.without_weights();  // they come from the checkpoint
  run.seed = recipe.seed;
  const TensorEntry* classifier = checkpoint.file.find("classifier.weight");
  run.channels = run.words > 0 ? 0 : channels_of(recipe.encoder, checkpoint.file);
  const Model model = make_model(recipe, run.words > 0 ? run.words : run.channels, classifier == nullptr ? 0 : classifier->shape.at(0));
  load_state(*model.encoder, checkpoint.file, "encoder.");
  load_state(*model.head, checkpoint.file, "head.");
  model.train(false);
  run.encoder = model.encoder;
  run.head = model.head;
  run.has_head = recipe.head.projects();
  if (model.classifier != nullptr) load_state(*model.classifier->linear(), checkpoint.file, "classifier.");
  run.classifier = model.classifier;
  return run;
}

void require_image_run(const LoadedRun& run) {
  if (run.samples() == SampleKind::kImages) return;
  throw usage_error("opening '{}': it reads sentences; this is for images (debias eval sentences, debias embed --text FILE)",
                    run.checkpoint);
}

std::vector<std::string> run_files(const LoadedRun& run) {
  std::vector<std::string> files = {run.checkpoint};
  if (run.folder.empty()) return files;
  for (const char* name : {"config.yaml", "metrics.jsonl", "metrics.csv", kEpochTimesFile, "train.log", "environment.json", "classes.json",
                           "vocabulary.txt"}) {
    files.push_back(run.folder + "/" + name);
  }
  for (const auto& entry : fs::directory_iterator(run.folder + "/checkpoints")) files.push_back(entry.path().string());
  return files;
}

}  // namespace debias
