#include "debias/results/evaluation_record.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

#include "debias/results/predictions.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLargestEvaluation = int64_t{256} << 20;  // bytes; a map of 100,000 images is 5 MB

// Calls `read` for each split under a key that may be absent.
template <class Read>
void for_each_split(const Json& json, const char* key, Read&& read) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return;
  for (const auto& [split, value] : found->get_ref<const Json::object_t&>()) read(split, value);
}

// Source of the evaluated predictions. Files of `groups` by older versions say so among the options.
std::string predictions_of(const EvaluationRecord& record, const Json& json) {
  const auto found = json.find("predictions");
  if (found != json.end() && found->is_string()) return found->get<std::string>();
  const auto option = record.options.find("predictions");
  if (option != record.options.end() && option->is_string()) return option->get<std::string>();
  if (record.protocol == "knn") return "knn";
  return record.protocol.starts_with("linear") ? "linear" : "";
}

std::optional<AlignedValues> aligned_values(const Json& json) {
  const auto found = json.find("aligned");
  if (found == json.end() || !found->is_object()) return std::nullopt;
  AlignedValues aligned;
  for (const auto& [label, biases] : found->get_ref<const Json::object_t&>()) {
    aligned.biases_of_class.emplace_back(
        label, biases.is_array() ? biases.template get<std::vector<std::string>>() : std::vector{biases.template get<std::string>()});
  }
  aligned.by = value_or(json, "aligned_by", std::string());
  aligned.share = number_or_nan(json.value("aligned_share", Json()));
  aligned.share_by_chance = number_or_nan(json.value("aligned_share_by_chance", Json()));
  return aligned;
}

std::optional<AddedBiasValues> added_bias_values(const Json& json) {
  const auto found = json.find("bias_values");
  if (found == json.end() || !found->is_object()) return std::nullopt;
  return AddedBiasValues{value_or(*found, "file", std::string()), value_or(*found, "column", std::string()),
                         value_or(*found, "sha256", std::string()), value_or(*found, "unknown", std::map<std::string, int64_t>())};
}

std::optional<BiasProbeFit> bias_probe_fit(const Json& json) {
  const auto found = json.find("bias_probe");
  if (found == json.end() || !found->is_object()) return std::nullopt;
  return BiasProbeFit{value_or(*found, "values", int64_t{0}), value_or(*found, "converged", true),
                      value_or(*found, "iterations", int64_t{0}), number_or_nan(found->value("gradient", Json())),
                      number_or_nan(found->value("objective", Json()))};
}

std::optional<TrainedProbe> trained_probe(const Json& json) {
  const auto loss = json.find("train_loss");
  if (loss == json.end()) return std::nullopt;
  TrainedProbe training{number_or_nan(*loss), {}, {}, value_or(json, "selected_on", std::string())};
  if (json.contains("epochs")) training.epochs = whole_number(json.at("epochs"));
  if (json.contains("best_epoch")) training.best_epoch = whole_number(json.at("best_epoch"));
  return training;
}

SimilarityHistogram similarity_histogram(const Json& json) {
  return {count_number(json.at("pairs")), number_or_nan(json.at("mean")), number_or_nan(json.at("std")),
          count_numbers(json.at("histogram"))};
}

FeatureMap feature_map(const Json& json, const std::string& path) {
  FeatureMap map;
  if (json.contains("ids")) map.ids = whole_numbers(json.at("ids"));
  for (const auto& point : json.at("points")) map.points.emplace_back(number_or_nan(point.at(0)), number_or_nan(point.at(1)));
  map.labels = whole_numbers(json.at("labels"));
  if (json.contains("bias")) map.biases = whole_numbers(json.at("bias"));
  map.kl = number_or_nan(json.value("kl", Json()));
  map.perplexity = number_or_nan(json.value("perplexity", Json()));
  if (map.labels.size() != map.points.size() || (!map.biases.empty() && map.biases.size() != map.points.size())) {
    throw data_error("reading '{}': {} points, {} labels and {} bias labels; a t-SNE plot has one of each for an image", path,
                     map.points.size(), map.labels.size(), map.biases.size());
  }
  return map;
}

NeighbourImage neighbour_image(const Json& json, const char* id) {
  return {whole_number(json.at(id)), value_or(json, "label", kUnknownValue), value_or(json, "bias", kUnknownValue),
          number_or_nan(json.value("cosine", Json()))};
}

std::vector<NeighbourQuery> neighbour_queries(const Json& list) {
  std::vector<NeighbourQuery> queries;
  for (const auto& json : list) {
    NeighbourQuery query{neighbour_image(json, "query"), value_or(json, "predicted", kUnknownValue), {}};
    for (const auto& near : value_or(json, "nearest", Json::array())) query.nearest.push_back(neighbour_image(near, "id"));
    queries.push_back(std::move(query));
  }
  return queries;
}

EvaluationRecord evaluation_record(const std::string& path, const Json& json) {
  EvaluationRecord record;
  record.path = path;
  const std::string stem = fs::path(path).stem().string();
  record.protocol = value_or(json, "protocol", stem);
  if (stem.starts_with(record.protocol + "-")) record.data = stem.substr(record.protocol.size() + 1);
  record.checkpoint = value_or(json, "checkpoint", std::string());
  record.epoch = value_or(json, "epoch", int64_t{-1});
  record.evaluated = value_or(json, "data", Json::object());
  record.options = value_or(json, "options", Json::object());
  record.class_count = value_or(json, "classes", int64_t{0});
  record.predictions = predictions_of(record, json);
  record.aligned = aligned_values(json);
  record.bias_probe = bias_probe_fit(json);
  record.trained_probe = trained_probe(json);
  if (json.contains("notes")) record.notes = value_or(json, "notes", std::vector<std::string>());
  record.bias_values = added_bias_values(json);
  record.accepted_changes = value_or(json, "accepted_data_changes", std::vector<std::string>());
  for_each_split(json, "recipe_changes", [&](const auto& key, const Json& value) {
    record.recipe_changes[key] = value.is_null() ? std::nullopt : std::optional(value.template get<std::string>());
  });
  for_each_split(json, "anchors", [&](const auto& split, const Json& value) { record.anchors.emplace_back(split, count_number(value)); });
  for_each_split(json, "queries", [&](const auto& split, const Json& value) { record.queries.emplace_back(split, count_number(value)); });
  for_each_split(json, "drawn", [&](const auto& setting, const Json& value) { record.drawn.emplace_back(setting, count_number(value)); });
  for_each_split(json, "by_draw", [&](const auto& name, const Json& values) {
    for (const auto& value : values) record.by_draw[name].push_back(number_or_nan(value));
  });
  for_each_split(json, "metrics", [&](const auto& name, const Json& value) { record.metrics.emplace_back(name, number_or_nan(value)); });
  if (record.is_of_tasks()) {
    record.tasks = take_tasks(json, record.options);
  } else {
    for_each_split(json, "counts", [&](const auto& split, const Json& value) { record.counts.emplace_back(split, count_number(value)); });
  }
  for_each_split(json, "group_counts",
                 [&](const auto& split, const Json& value) { record.group_counts.emplace_back(split, count_number(value)); });
  record.groups_from = value_or(json, "groups_from", record.groups_from);
  for_each_split(json, "group_of", [&](const auto& split, const Json& value) {
    std::istringstream numbers(value.template get<std::string>());
    for (int64_t group = 0; numbers >> group;) record.group_of[split].push_back(group);
  });
  for_each_split(json, "sides", [&](const auto& name, const Json& value) { record.side_metrics.emplace_back(name, number_or_nan(value)); });
  for_each_split(json, "intervals", [&](const auto& name, const Json& value) {
    record.intervals[name] = {number_or_nan(value.at(0)), number_or_nan(value.at(1))};
  });
  for_each_split(json, "groups", [&](const auto& split, const Json& value) {
    record.groups[split] = read_group_table(value, path);
    record.classes[split] = read_class_table(value, path);
  });
  for_each_split(json, "marks", [&](const auto& split, const Json& value) {
    record.marks[split] = value.template get<std::string>();
    require_marks(record.marks[split], path);
  });
  for_each_split(json, "examples", [&](const auto& split, const Json& images) {
    for (const Json& image : images) {
      const auto text = [&](const char* key) { return image.at(key).template get<std::string>(); };
      record.examples[split].push_back({image.at("id").template get<int64_t>(), image.at("aligned").template get<bool>(), text("label"),
                                        text("bias"), text("predicted")});
    }
  });
  for_each_split(json, "by_class", [&](const auto& split, const Json& value) { record.classes[split] = read_class_table(value, path); });
  for_each_split(json, "clusterings", [&](const auto& split, const Json& value) {
    for (const auto& [name, one] : value.template get_ref<const Json::object_t&>()) {
      record.clusterings[split].emplace_back(name, ClusteringAccuracy{number_or_nan(one.at("accuracy")), count_number(one.at("cells"))});
    }
  });
  for_each_split(json, "similarity", [&](const auto& split, const Json& sets) {
    for (const auto& [name, value] : sets.template get_ref<const Json::object_t&>()) {
      record.similarity[split][name] = similarity_histogram(value);
    }
  });
  for_each_split(json, "map", [&](const auto& split, const Json& value) { record.maps[split] = feature_map(value, path); });
  for_each_split(json, "neighbours", [&](const auto& split, const Json& value) { record.neighbours[split] = neighbour_queries(value); });
  return record;
}

}  // namespace

const double* EvaluationRecord::metric(const std::string& name) const {
  const auto found = std::find_if(metrics.begin(), metrics.end(), [&](const auto& metric) { return metric.first == name; });
  return found == metrics.end() ? nullptr : &found->second;
}

bool EvaluationRecord::evaluates_predictions_of(const std::string& another) const {
  if (another == protocol || protocol.starts_with("linear")) return false;
  return another == predictions || (another == "linear_dcl" && predictions == "linear");
}

bool EvaluationRecord::has_option(const std::string& name, const Json& value) const {
  const auto found = options.find(name);
  return found != options.end() && *found == value;
}

double EvaluationRecord::interval_level() const {
  const auto found = options.find("level");
  return found == options.end() || !found->is_number() ? kNotKnown : found->get<double>();
}

bool EvaluationRecord::is_of_tasks() const { return !metrics.empty() && metrics.front().first.find('.') == std::string::npos; }

const EvaluatedTask* EvaluationRecord::task(const std::string& name) const {
  const auto found = std::ranges::find(tasks, name, &EvaluatedTask::name);
  return found == tasks.end() ? nullptr : &*found;
}

std::optional<bool> EvaluationRecord::is_aligned(const GroupTable& table, size_t label, size_t bias) const {
  if (!aligned) return label == bias;
  const auto found = std::ranges::find(aligned->biases_of_class, table.labels[label], &BiasesOfClass::value_type::first);
  if (found == aligned->biases_of_class.end() || found->second.empty() || table.biases[bias] == "unknown") return std::nullopt;
  return std::ranges::find(found->second, table.biases[bias]) != found->second.end();
}

std::optional<AlignedCounts> EvaluationRecord::aligned_counts(const std::string& split) const {
  const auto table = groups.find(split);
  if (table == groups.end()) return std::nullopt;
  AlignedCounts found;
  for (size_t y = 0; y < table->second.labels.size(); ++y) {
    for (size_t b = 0; b < table->second.biases.size(); ++b) {
      const auto goes_with = is_aligned(table->second, y, b);
      if (goes_with) (*goes_with ? found.aligned : found.conflicting) += table->second.count[y][b];
    }
  }
  return found;
}

int64_t EvaluationRecord::groups_of(const std::string& split) const {
  const auto of = [&](const auto& all) {
    const auto found = std::ranges::find(all, split, &std::pair<std::string, int64_t>::first);
    return found == all.end() ? int64_t{0} : found->second;
  };
  const int64_t found = of(group_counts);
  return found < of(counts) ? found : 0;
}

double EvaluationRecord::design_effect(const std::string& split, MarkedImages images) const {
  const int64_t joined = groups_of(split);
  if (joined == 0) return 1;
  const auto mark = marks.find(split);
  const auto group = group_of.find(split);
  if (mark != marks.end() && group != group_of.end() && mark->second.size() == group->second.size())
    return debias::design_effect(mark->second, nullptr, images, group->second);
  const auto all = std::ranges::find(counts, split, &std::pair<std::string, int64_t>::first);
  return static_cast<double>(all->second) / static_cast<double>(joined);
}

std::vector<EvaluationRecord> read_evaluations(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<EvaluationRecord> records;
  for (const auto& path : paths) records.push_back(read_evaluation(path));
  return records;
}

EvaluationRecord read_evaluation(const std::string& path) {
  const Json json = read_json_object(path, kLargestEvaluation);
  return read_fields(path, [&] { return evaluation_record(path, json); });
}

namespace {

constexpr std::array kFindings = {"C", "majority", "unknown", "texts", "digest"};

const Json* finding_of(const Json& options, const char* finding, const std::string& task) {
  const auto found = options.find(finding);
  if (found == options.end() || !found->is_object()) return nullptr;
  const auto of_task = found->find(task);
  return of_task == found->end() ? nullptr : &*of_task;
}

EvaluatedTask task_of(const Json& options, const std::string& name) {
  EvaluatedTask task;
  task.name = name;
  if (const Json* C = finding_of(options, "C", name); C != nullptr && C->is_array()) {
    for (const auto& value : *C) task.C.push_back(value.is_number() ? value.get<double>() : kNotKnown);
  }
  if (const Json* majority = finding_of(options, "majority", name); majority != nullptr && majority->is_number()) {
    task.majority = majority->get<double>();
  }
  for (const auto& [key, field] : {std::pair{"unknown", &task.unknown}, {"texts", &task.texts}}) {
    const Json* count = finding_of(options, key, name);
    if (count != nullptr && count->is_number_integer()) *field = count->get<int64_t>();
  }
  if (const Json* digest = finding_of(options, "digest", name); digest != nullptr && digest->is_string()) {
    task.digest = digest->get<std::string>();
  }
  return task;
}

}  // namespace

void add_tasks(const std::vector<EvaluatedTask>& tasks, Json& record) {
  Json& options = record["options"];
  for (const auto& task : tasks) {
    options["C"][task.name] = numbers_or_null(task.C);
    options["majority"][task.name] = number_or_null(task.majority);
    options["unknown"][task.name] = task.unknown;
    options["texts"][task.name] = task.texts;
    if (!task.digest.empty()) options["digest"][task.name] = task.digest;
  }
  for (const auto& task : tasks) record["counts"][task.name] = task.evaluated;  // a new key moves `options`
}

std::vector<EvaluatedTask> take_tasks(const Json& record, Json& options) {
  std::vector<EvaluatedTask> tasks;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(tasks, name, &EvaluatedTask::name) == tasks.end()) tasks.push_back(task_of(options, name));
  };
  const auto counts = record.find("counts");
  if (counts != record.end() && counts->is_object()) {
    for (const auto& [name, count] : counts->items()) {
      add(name);
      tasks.back().evaluated = count_number(count);
    }
  }
  if (!options.is_object()) return tasks;
  for (const char* finding : kFindings) {
    const auto found = options.find(finding);
    if (found == options.end() || !found->is_object()) continue;
    for (const auto& entry : found->items()) add(entry.key());
  }
  for (const char* finding : kFindings) options.erase(finding);
  return tasks;
}

}  // namespace debias
