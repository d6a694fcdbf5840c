#include "debias/fix/fixed_folder.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "debias/core/atomic_file.h"
#include "debias/core/config.h"
#include "debias/core/error.h"
#include "debias/core/npy.h"
#include "debias/core/safetensors.h"
#include "debias/core/sha256.h"
#include "debias/encoders/onnx.h"
#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/embedding_file.h"
#include "debias/results/evaluation_record.h"
#include "debias/results/json_file.h"
#include "debias/runtime/each_alone.h"

namespace debias {
namespace {

constexpr int64_t kBlockOfRows = 4096;
constexpr size_t kFlushedText = 1 << 20;

// call(rows [count, D]), block by block.
template <class Call>
void each_block_of(const FeatureVectors& vectors, const Call& call) {
  const OneThread alone;
  const at::NoGradGuard no_grad;
  for (int64_t begin = 0; begin < vectors.rows(); begin += kBlockOfRows) {
    const at::Tensor x = at::empty({std::min(kBlockOfRows, vectors.rows() - begin), vectors.dimensions()}, at::kFloat);
    vectors.read(begin, x.size(0), x.mutable_data_ptr<float>());
    call(x);
  }
}

}  // namespace

std::vector<int64_t> predictions_of(const FixedModel& model, const FeatureVectors& vectors) {
  std::vector<int64_t> all;
  each_block_of(vectors, [&](const at::Tensor& x) {
    const auto own = predicted_classes(at::addmm(model.head.bias, x.to(at::kDouble), model.head.weight.t()));
    all.insert(all.end(), own.begin(), own.end());
  });
  return all;
}

void write_predictions(const std::string& path, const FeatureTable& table, const FixResult& result) {
  const std::vector<int64_t> before = predictions_of(result.before, table.vectors), after = predictions_of(result.after, table.vectors);
  const auto cell = [](const std::string& name) { return csv_field(name, CsvCells::kGuarded); };
  AtomicFile file(path);
  std::string text = "path,label,bias,split,before,after\n";
  for (size_t i = 0; i < before.size(); ++i) {
    const int64_t bias = result.bias.values[i];
    text +=
        fmt::format("{},{},{},{},{},{}\n", table.rows.names.empty() ? "" : cell(table.rows.names[i]),
                    cell(table.rows.classes[static_cast<size_t>(table.rows.labels[i])]),
                    bias == kUnknown ? "" : cell(result.bias.names[static_cast<size_t>(bias)]), enum_name(table.rows.splits[i]),
                    cell(result.before.classes[static_cast<size_t>(before[i])]), cell(result.after.classes[static_cast<size_t>(after[i])]));
    if (text.size() < kFlushedText) continue;
    file.write(text.data(), text.size());
    text.clear();
  }
  file.write(text.data(), text.size());
  file.commit();
}

void write_fixed_features(const FixedModel& model, const FeatureVectors& vectors, const std::string& out) {
  const int64_t D = model.layer.mean.size(0);
  if (vectors.dimensions() != D) {
    throw data_error("{}: vectors of {} dimensions for a layer of {}; give vectors of the same backbone", vectors.path(),
                     vectors.dimensions(), D);
  }
  require_usable(vectors);
  NpyWriter file(out, DType::kFloat32, {vectors.rows(), D});
  each_block_of(vectors, [&](const at::Tensor& x) {
    const at::Tensor fixed = model.layer.apply(x.to(at::kDouble)).to(at::kFloat).contiguous();
    file.write(fixed.const_data_ptr(), fixed.nbytes());
  });
  file.commit();
}

namespace {

// A fixed model for other programs' runtimes.

// An ONNX model (onnx.h) with input `features` [batch, D] and outputs `features_fixed` [batch, D] and `logits` [batch, C].
std::string onnx_model(const FixedModel& model) {
  constexpr const char* kFeatures = "features";
  constexpr const char* kFixed = "features_fixed";
  const int64_t D = model.head.weight.size(1), C = model.head.weight.size(0);
  OnnxGraph graph("fixed");
  if (model.layer.rank() == 0) {
    graph.node("Identity", {kFeatures}, kFixed);
  } else {
    const std::string centred = graph.node("Sub", {kFeatures, graph.constant("mean", model.layer.mean)}, "centred");
    const std::string along = graph.node("MatMul", {centred, graph.constant("right", model.layer.right.t())}, "along");
    const std::string erased = graph.node("MatMul", {along, graph.constant("left", model.layer.left.t())}, "erased");
    graph.node("Sub", {kFeatures, erased}, kFixed);
  }
  const std::string scores = graph.node("MatMul", {kFixed, graph.constant("weight", model.head.weight.t())}, "scores");
  graph.node("Add", {scores, graph.constant("bias", model.head.bias)}, "logits");
  return graph.model({{kFeatures, {D}}}, {{kFixed, {D}}, {"logits", {C}}});
}
namespace fs = std::filesystem;

constexpr int64_t kLargestNames = int64_t{16} << 20;  // bytes
constexpr std::array<std::pair<const char*, const char*>, 4> kSummary = {
    {{"acc", "acc1"}, {"aligned_acc", "aligned_acc"}, {"conflicting_acc", "conflicting_acc"}, {"worst_group_acc", "worst_group_acc"}}};

void write_tensors(const std::string& path, const std::vector<std::pair<std::string, at::Tensor>>& tensors,
                   std::map<std::string, std::string> metadata = {}) {
  std::vector<at::Tensor> held;  // what the entries look at
  std::vector<TensorBytes> entries;
  for (const auto& [name, tensor] : tensors) {
    held.push_back(tensor.to(at::kFloat).contiguous());
    entries.push_back({name, DType::kFloat32, held.back().sizes().vec(), held.back().const_data_ptr()});
  }
  metadata.emplace("format", "pt");
  write_safetensors(path, entries, std::move(metadata));
}

at::Tensor read_tensor(const SafetensorsFile& file, const std::string& name, size_t dimensions) {
  const TensorEntry* entry = file.find(name);
  if (entry == nullptr) throw data_error("{}: no tensor '{}'; give a folder that debias fix wrote", file.path(), name);
  if (entry->dtype != DType::kFloat32 || entry->shape.size() != dimensions) {
    throw data_error("{}: tensor '{}' should be float32 of {} dimensions; write the folder again", file.path(), name, dimensions);
  }
  const at::Tensor tensor = at::empty(entry->shape, at::kFloat);
  file.read(*entry, tensor.mutable_data_ptr());
  if (!at::isfinite(tensor).all().item<bool>())
    throw data_error("{}: tensor '{}' is not finite; write the folder again", file.path(), name);
  return tensor.to(at::kDouble);
}

SafetensorsFile open_verified(const std::string& path) {
  SafetensorsFile file = SafetensorsFile::open(path);
  verify_safetensors(file);
  return file;
}

Json summary(const EvaluationRecord& record, bool by_folds) {
  Json splits = Json::object();
  for (const auto& [split, count] : record.counts) {
    if (split == "train") continue;
    Json& of_split = splits[by_folds && split == "valid" ? "folds" : split] = Json::object();
    Json intervals = Json::object();
    for (const auto& [name, metric] : kSummary) {
      const std::string full = split + "." + metric;
      const double* value = record.metric(full);
      of_split[name] = value == nullptr ? Json() : number_or_null(*value);
      const auto interval = record.intervals.find(full);
      if (interval != record.intervals.end()) intervals[name] = {interval->second.first, interval->second.second};
    }
    of_split["intervals"] = std::move(intervals);
  }
  return splits;
}

void write_record(const std::string& folder, const std::string& name, EvaluationRecord record) {
  write_file_atomically(folder + "/evaluation/" + name + ".json", to_json(record).dump(2) + "\n");
}

Config words(const std::vector<std::string>& names) {
  Config list = Config::sequence();
  for (const std::string& name : names) list.items().push_back(Config::string(name));
  return list;
}

// Rows of a split as data that reports compare: their number, and a digest of names, classes and bias labels.
Config data_section(const FixedOutcome& outcome, TableSplit split) {
  const TableRows& rows = outcome.table.rows;
  const JointBias& bias = outcome.result.bias;
  Sha256 digest;
  const auto add = [&digest](const std::string& text) { digest.update(text.c_str(), text.size() + 1); };
  const std::vector<int64_t> places = outcome.table.of_split(split);
  for (const int64_t place : places) {
    const auto i = static_cast<size_t>(place);
    add(rows.names.empty() ? std::to_string(place) : rows.names[i]);
    add(rows.classes[static_cast<size_t>(rows.labels[i])]);
    add(bias.values[i] == kUnknown ? "" : bias.names[static_cast<size_t>(bias.values[i])]);
  }
  return Config::map(
      {{"name", Config::string("features")}, {"rows", Config::integer(std::ssize(places))}, {"samples", Config::string(digest.hex())}});
}

Config recipe_config(const FixRecipe& recipe, const FixedOutcome& outcome) {
  Config section = config_of(recipe.options);
  section.set("embeddings", Config::string(recipe.files.vectors));
  section.set("csv", Config::string(recipe.files.csv));
  section.set("key", Config::string(recipe.files.key));
  section.set("label", Config::string(recipe.columns.label));
  std::vector<std::string> biases;
  for (const size_t place : outcome.table.rows.biases) biases.push_back(outcome.table.rows.columns[place].name);
  section.set("bias", words(biases));
  section.set("numeric", words(recipe.columns.numeric));
  if (recipe.columns.groups) section.set("group", words(*recipe.columns.groups));
  const TableDigest digest = table_digest(outcome.table);
  section.set("vectors_digest", Config::string(digest.vectors));
  section.set("rows_digest", Config::string(digest.rows));
  Config config = Config::map({{"name", Config::string(fmt::format("fix-{}", enum_name(outcome.result.method)))}});
  config.set("seed", Config::integer(recipe.options.seed));
  config.set("fix", std::move(section));
  Config data = Config::map();
  for (const auto& [name, split] : EnumNames<TableSplit>::values) {
    if (!outcome.table.of_split(split).empty()) data.set(std::string(name), data_section(outcome, split));
  }
  config.set("data", std::move(data));
  config.set("train", Config::map({{"epochs", Config::integer(1)}}));
  return config;
}

std::string metric_line(const FixedOutcome& outcome) {
  Json line = {{"epoch", 1}};
  for (const EvaluationResult* result : {&outcome.evaluations.after.groups, &outcome.evaluations.after.geometry}) {
    for (const auto& [name, value] : result->metrics) line[name] = number_or_null(value);
  }
  return line.dump() + "\n";
}

std::string log_text(const FixedOutcome& outcome) {
  std::string text;
  for (const std::string& line : outcome.table.remarks) text += line + "\n";
  for (const std::string& line : outcome.result.log) text += line + "\n";
  for (const std::string& line : outcome.result.notes) text += "note: " + line + "\n";
  for (const std::string& line : outcome.evaluations.notes) text += "note: " + line + "\n";
  return text;
}

void write_evaluations(const std::string& folder, const FixedEvaluations& evaluations) {
  fs::create_directories(folder + "/evaluation");
  write_record(folder, "groups", evaluations.after.groups.record);
  write_record(folder, "geometry", evaluations.after.geometry.record);
  write_record(folder, "groups-before", evaluations.before.groups.record);
  write_record(folder, "geometry-before", evaluations.before.geometry.record);
}

Config fix_section(const std::string& folder) {
  const Config config = read_yaml_file(folder + "/config.yaml");
  const Config* section = config.find("fix");
  if (section == nullptr) throw data_error("{}: it is not a folder of debias fix (config.yaml has no section fix)", folder);
  return *section;
}

std::string text_at(const Config& section, const char* key) {
  const Config* value = section.find(key);
  return value == nullptr ? "" : value->text();
}

std::vector<std::string> words_at(const Config& section, const char* key) {
  std::vector<std::string> names;
  if (const Config* list = section.find(key)) {
    for (const Config& item : list->items()) names.push_back(item.text());
  }
  return names;
}

void require_shapes(const std::string& folder, const FixedModel& model) {
  const int64_t D = model.layer.mean.size(0), r = model.layer.left.size(1), C = model.head.weight.size(0);
  const bool fits = model.layer.left.size(0) == D && model.layer.right.size(0) == r && model.layer.right.size(1) == D &&
                    model.head.weight.size(1) == D && model.head.bias.size(0) == C && std::ssize(model.classes) == C;
  if (!fits) throw data_error("{}: the shapes of its layer, head and classes do not match; write the folder again", folder);
}

}  // namespace

nlohmann::ordered_json to_json(const FixedOutcome& outcome) {
  const FixResult& result = outcome.result;
  Json json = {{"method", enum_name(result.method)}, {"changed", result.changed}};
  json["before"] = summary(outcome.evaluations.before.groups.record, outcome.evaluations.by_folds);
  json["after"] = summary(outcome.evaluations.after.groups.record, outcome.evaluations.by_folds);
  json["groups"] = result.units.count;
  json["groups_from"] = result.units.from;
  json["rank"] = result.after.layer.rank();
  json["seconds"] = outcome.seconds;
  json["chosen"] = {{"C", result.choice.C}};
  if (result.choice.erases()) json["chosen"]["shrinkage"] = enum_name(result.choice.shrinkage);
  json["notes"] = outcome.table.remarks;
  for (const std::string& note : result.notes) json["notes"].push_back(note);
  for (const std::string& note : outcome.evaluations.notes) json["notes"].push_back(note);
  return json;
}

void write_fixed(const std::string& folder, const FixedOutcome& outcome) {
  const FixedModel& model = outcome.result.after;
  write_tensors(folder + "/layer.safetensors", {{"mean", model.layer.mean}, {"left", model.layer.left}, {"right", model.layer.right}},
                to_metadata(vector_range(outcome.table.vectors, outcome.table.of_split(TableSplit::kTrain))));
  write_tensors(folder + "/head.safetensors", {{"weight", model.head.weight}, {"bias", model.head.bias}});
  write_file_atomically(folder + "/fixed.onnx", onnx_model(model));
  write_evaluations(folder, outcome.evaluations);
  write_predictions(folder + "/predictions.csv", outcome.table, outcome.result);
  write_file_atomically(folder + "/classes.json", Json{{"classes", model.classes}, {"biases", outcome.result.bias.names}}.dump(2) + "\n");
  write_file_atomically(folder + "/environment.json", Json{{"debias", outcome.version}}.dump(2) + "\n");
  write_file_atomically(folder + "/metrics.jsonl", metric_line(outcome));
  write_file_atomically(folder + "/fix.json", to_json(outcome).dump(2) + "\n");
  write_file_atomically(folder + "/fix.log", log_text(outcome));
  write_file_atomically(folder + "/config.yaml", recipe_config(outcome.recipe, outcome).to_yaml());
}

bool is_fixed_folder(const std::string& path) {
  const std::string config = path + "/config.yaml";
  return fs::is_regular_file(config) && fs::exists(path + "/layer.safetensors") && read_yaml_file(config).find("fix") != nullptr;
}

FixedModel read_fixed(const std::string& folder) {
  if (!fs::is_regular_file(folder + "/config.yaml"))
    throw data_error("{}: expected a folder of debias fix, found no config.yaml in it", folder);
  fix_section(folder);
  const SafetensorsFile layer = open_verified(folder + "/layer.safetensors"), head = open_verified(folder + "/head.safetensors");
  FixedModel model;
  model.layer = {read_tensor(layer, "mean", 1), read_tensor(layer, "left", 2), read_tensor(layer, "right", 2)};
  model.range = range_from(layer.metadata());
  model.head = {read_tensor(head, "weight", 2), read_tensor(head, "bias", 1)};
  const std::string names = folder + "/classes.json";
  const Json json = read_json_object(names, kLargestNames);
  model.classes = read_fields(names, [&] { return json.at("classes").get<std::vector<std::string>>(); });
  require_shapes(folder, model);
  return model;
}

FixRecipe read_fix_recipe(const std::string& folder) {
  const Config section = fix_section(folder);
  FixRecipe recipe;
  const auto place = [&](const char* key) { return (fs::path(folder) / text_at(section, key)).string(); };  // an absolute path stays
  recipe.files = {.vectors = place("embeddings"), .csv = place("csv"), .key = text_at(section, "key")};
  recipe.columns.label = text_at(section, "label");
  recipe.columns.biases = words_at(section, "bias");
  recipe.columns.numeric = words_at(section, "numeric");
  if (section.find("group") != nullptr) recipe.columns.groups = words_at(section, "group");
  recipe.digest = {text_at(section, "vectors_digest"), text_at(section, "rows_digest")};
  Config options = Config::map();
  for (const std::string& name : option_names<FixOptions>()) {
    if (const Config* value = section.find(name)) options.set(name, *value);
  }
  recipe.options = options_from<FixOptions>(options, folder + "/config.yaml");
  return recipe;
}

std::vector<std::string> table_changes(const std::string& folder, const FixRecipe& recipe, const FeatureTable& table) {
  if (recipe.digest.vectors.empty()) return {fmt::format("{}/config.yaml: it has no digest of the table", folder)};
  const TableDigest now = table_digest(table);
  std::vector<std::string> changes;
  if (now.vectors != recipe.digest.vectors) {
    changes.push_back(fmt::format("{}: the vectors have changed since debias fix wrote '{}'", table.vectors.path(), folder));
  }
  if (now.rows != recipe.digest.rows) {
    changes.push_back(
        fmt::format("{}: names, labels, splits or bias labels have changed since debias fix wrote '{}'", table.rows.path, folder));
  }
  return changes;
}

}  // namespace debias
