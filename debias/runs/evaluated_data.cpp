#include "debias/runs/evaluated_data.h"

#include <algorithm>
#include <filesystem>

#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/paths.h"
#include "debias/data/dataset.h"
#include "debias/data/dataset_registry.h"
#include "debias/data/settled_pixels.h"
#include "debias/encoders/state.h"
#include "debias/results/run_files.h"
#include "debias/runs/sentence_evaluation.h"
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

namespace {

// Both have names, and none in common.
bool are_others(const std::vector<std::string>& classes, const std::vector<std::string>& known) {
  const auto is_known = [&](const std::string& name) { return std::find(known.begin(), known.end(), name) != known.end(); };
  return !classes.empty() && !known.empty() && std::none_of(classes.begin(), classes.end(), is_known);
}

}  // namespace

EvaluatedData data_of(const Recipe& recipe) { return {recipe.train_data, recipe.valid_data, recipe.test_data}; }

double training_temperature(const Config& resolved_recipe) {
  for (const auto& term : read_recipe(resolved_recipe).objective) {
    if (const auto temperature = term.temperature()) return *temperature;
  }
  return EvaluationInput().training_temperature;
}

void settle_pixels(Recipe& recipe, SettledData& known) {
  const auto [settled, is_new] = known.try_emplace(recipe.train_data.section.to_yaml());
  if (is_new) settled->second = with_settled_bits(recipe.train_data);
  recipe.train_data = settled->second;
  for (std::optional<ChosenData>* evaluated : {&recipe.valid_data, &recipe.test_data}) {
    if (*evaluated) *evaluated = with_pixels_of(recipe.train_data, **evaluated);
  }
}

ChosenData named_data(const LoadedRun& run, const DataWords& data, const std::string& split) {
  Config section = Config::map({{"name", Config::string(data.name)}});
  if (!data.root.empty()) section.set("root", Config::string(data.root));
  for (const auto& word : data.words) section.assign(word);
  if (!split.empty()) section.set("split", Config::string(split));
  return with_pixels_of(read_recipe(run.recipe).train_data, read_data(section));
}

EvaluatedData evaluated_data(const LoadedRun& run, const DataWords& data) {
  const bool of_images = run.samples() == SampleKind::kImages;
  if (!data.name.empty() && !of_images) return {read_recipe(run.recipe).train_data, {}, named_data(run, data, "")};
  if (!data.name.empty()) return {named_data(run, data, "train"), {}, named_data(run, data, "test")};
  if (run.folder.empty()) {
    throw usage_error("opening checkpoint '{}': it is in no run folder, so its data are not known; give --data NAME --root DIR",
                      run.checkpoint);
  }
  const Recipe recipe = read_recipe(run.recipe);
  if (!recipe.test_data && (of_images || !recipe.valid_data)) {
    throw usage_error("opening run '{}': its recipe has no data.test; add data.test='{{name: ...}}', or give --data NAME --root DIR",
                      run.folder);
  }
  return data_of(recipe).below(data.root);
}

std::vector<std::pair<std::string, const ChosenData*>> EvaluatedData::sets() const {
  std::vector<std::pair<std::string, const ChosenData*>> all = {{"train", &train}};
  if (valid) all.emplace_back("valid", &*valid);
  if (test) all.emplace_back("test", &*test);
  return all;
}

EvaluatedData EvaluatedData::below(const std::string& root) const {
  if (root.empty()) return *this;
  const Config change = Config::map({{"root", Config::string(root)}});
  EvaluatedData moved{train.with(change)};
  if (valid) moved.valid = valid->with(change);
  if (test) moved.test = test->with(change);
  return moved;
}

std::vector<std::string> roots_of(const EvaluatedData& data) {
  std::vector<Config> sections;
  for (const auto& [split, set] : data.sets()) sections.push_back(set->section);
  return roots_of(sections);
}

std::shared_ptr<const Dataset> DataWatch::open(const std::string& split, const ChosenData& data) {
  std::shared_ptr<const Dataset> dataset = data.make_images();
  watch(split, data, *dataset);
  if (biases_) return with_biases(split, data, std::move(dataset));
  return group_columns_.empty() ? dataset : with_groups(split, data, std::move(dataset));
}

std::shared_ptr<const Dataset> DataWatch::with_groups(const std::string& split, const ChosenData& data,
                                                      std::shared_ptr<const Dataset> dataset) {
  const Config* written = data.section.find("labels");
  LabelColumns columns = written == nullptr ? LabelColumns() : LabelColumns::from_config(*written, "labels");
  if (columns.file.empty()) {
    throw usage_error(
        "--group {}: data.{} has no CSV of labels whose columns it could name; give one by --labels FILE.csv or data.{}.labels",
        group_columns_, split, split);
  }
  columns.bias = std::nullopt;
  columns.group = group_columns_;
  const AddedBiases::Added added = AddedBiases(columns).add(std::move(dataset), data.root);
  for (const std::string& note : added.notes) notes_.push_back(fmt::format("{}: {}: {}", split, columns.file, note));
  return added.dataset;
}

std::shared_ptr<const Dataset> DataWatch::with_biases(const std::string& split, const ChosenData& data,
                                                      std::shared_ptr<const Dataset> dataset) {
  const int64_t images = dataset->size();
  const AddedBiases::Added added = biases_->add(std::move(dataset), data.root);
  if (biases_->has_biases()) unknown_[split] = added.unknown;
  if (added.unknown > 0) {
    notes_.push_back(fmt::format("{}: {} of {} images have no bias label in {}", split, added.unknown, images, biases_->file()));
  }
  for (const std::string& note : added.notes) notes_.push_back(fmt::format("{}: {}: {}", split, biases_->file(), note));
  return added.dataset;
}

std::optional<AddedBiasValues> DataWatch::added_bias_values() const {
  if (!biases_ || !biases_->has_biases()) return std::nullopt;
  return AddedBiasValues{biases_->file(), biases_->column(), biases_->digest(), unknown_};
}

std::shared_ptr<const SampleTable> DataWatch::open_samples(const std::string& split, const ChosenData& data) {
  std::shared_ptr<const SampleTable> samples = data.make();
  watch(split, data, *samples);
  return samples;
}

void DataWatch::watch(const std::string& split, const ChosenData& data, const SampleTable& samples) {
  for (const auto& remark : samples.info().remarks) {
    if (said_.insert(remark).second) log_.info(remark);
  }
  record_.sets[split] = fingerprint(samples, data, verify_, progress_);
}

EvaluationInput evaluation_input(const Recipe& recipe, const EvaluatedData& data, const NameTable& names, DataWatch& watch, Log& log,
                                 std::shared_ptr<const Dataset> train) {
  if (train == nullptr) train = watch.open("train", data.train);
  NameTable table = names;
  if (table.classes.empty()) table.classes = train->info().class_names;
  if (table.biases.empty() || watch.added_bias_values()) table.biases = train->info().bias_names;
  const auto mapped = [&](std::shared_ptr<const Dataset> dataset) {
    MappedDataset result = map_to_table(std::move(dataset), table, recipe.evaluate.unknown_classes);
    for (const auto& remark : result.remarks) log.warn(remark);
    return result.dataset;
  };
  EvaluationInput input;
  input.train = mapped(std::move(train));
  if (data.valid) input.valid = mapped(watch.open("valid", *data.valid));
  if (data.test) input.test = mapped(watch.open("test", *data.test));
  input.train_views = recipe.view_steps;
  input.seed = recipe.seed;
  input.on_error = recipe.on_error;
  input.workers = recipe.train.workers.value_or(input.workers);
  return input;
}

EvaluationInput open_for_evaluation(const LoadedRun& run, const EvaluatedData& data, DataWatch& watch, Log& log) {
  if (run.samples() == SampleKind::kSentences) return sentences_for_evaluation(run, data, watch);
  std::shared_ptr<const Dataset> train = watch.open("train", data.train);
  const NameTable own = name_table(*train);
  const bool foreign = run.names && are_others(own.classes, run.names->classes);
  if (foreign) {
    log.warn(fmt::format("no class of {} is in the training set: it is evaluated by its own classes{}", train->info().name,
                         run.classifier == nullptr ? "" : ", without the run's classifier"));
  }
  EvaluationInput input = evaluation_input(read_recipe(run.recipe), data, foreign ? own : run.names.value_or(own), watch, log, train);
  input.encoder = run.encoder;
  if (run.classifier != nullptr && !foreign) {
    input.classifier = [classifier = run.classifier](const at::Tensor& features) {
      const at::NoGradGuard no_grad;
      return classifier->logits(features.unsqueeze(1)).cpu();
    };
  }
  input.seed = run.seed;
  input.training_temperature = training_temperature(run.recipe);
  return input;
}

std::shared_ptr<const Dataset> in_numbers_of(const LoadedRun& run, std::shared_ptr<const Dataset> dataset, Log& log) {
  if (!run.names || are_others(dataset->info().class_names, run.names->classes)) return dataset;
  MappedDataset mapped = map_to_table(std::move(dataset), *run.names, read_recipe(run.recipe).evaluate.unknown_classes);
  for (const auto& remark : mapped.remarks) log.warn(remark);
  return mapped.dataset;
}

std::vector<std::string> require_unchanged(const LoadedRun& run, const DataWatch& watch, const std::vector<std::string>& words,
                                           DataChange change, Log& log) {
  std::set<std::string> replaced;
  for (const char* split : {"train", "valid", "test"}) {
    const std::string prefix = fmt::format("data.{}", split);
    if (std::any_of(words.begin(), words.end(), [&](const auto& word) { return word.starts_with(prefix); })) replaced.insert(split);
  }
  return compare_data(run.data, watch.record(), run.folder, replaced, change, fmt::format("opening '{}'", run.checkpoint), log);
}

}  // namespace debias
