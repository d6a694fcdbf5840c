#include "debias/report/evaluation_record.h"

#include <algorithm>
#include <filesystem>
#include <optional>

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

std::vector<std::vector<double>> numbers_2d(const Json& rows) {
  std::vector<std::vector<double>> out;
  for (const auto& row : rows) {
    out.emplace_back();
    for (const auto& value : row) out.back().push_back(number_or_nan(value));
  }
  return out;
}

GroupTable group_table(const Json& json, const std::string& path) {
  GroupTable table{json.at("labels"), json.at("biases"), json.at("count"), numbers_2d(json.at("accuracy"))};
  bool even = table.count.size() == table.labels.size() && table.accuracy.size() == table.labels.size();
  for (size_t y = 0; even && y < table.labels.size(); ++y) {
    even = table.count[y].size() == table.biases.size() && table.accuracy[y].size() == table.biases.size();
  }
  if (!even) throw data_error("reading '{}': the group tables are not of one row a label and one column a bias value", path);
  return table;
}

SimilarityHistogram similarity_histogram(const Json& json) {
  return {json.at("pairs"), number_or_nan(json.at("mean")), number_or_nan(json.at("std")), json.at("histogram")};
}

FeatureMap feature_map(const Json& json, const std::string& path) {
  FeatureMap map;
  for (const auto& point : json.at("points")) map.points.emplace_back(number_or_nan(point.at(0)), number_or_nan(point.at(1)));
  map.labels = json.at("labels").get<std::vector<int64_t>>();
  if (json.contains("bias")) map.biases = json.at("bias").get<std::vector<int64_t>>();
  map.kl = number_or_nan(json.value("kl", Json()));
  map.perplexity = number_or_nan(json.value("perplexity", Json()));
  if (map.labels.size() != map.points.size() || (!map.biases.empty() && map.biases.size() != map.points.size())) {
    throw data_error("reading '{}': {} points, {} labels and {} bias values; a map has one of each for an image", path, map.points.size(),
                     map.labels.size(), map.biases.size());
  }
  return map;
}

NeighbourImage neighbour_image(const Json& json, const char* id) {
  return {json.at(id).get<int64_t>(), value_or(json, "label", kUnknownValue), value_or(json, "bias", kUnknownValue),
          number_or_nan(json.value("cosine", Json()))};
}

std::vector<NeighbourQuery> neighbour_queries(const Json& list) {
  std::vector<NeighbourQuery> queries;
  for (const auto& json : list) {
    NeighbourQuery query{neighbour_image(json, "query"), value_or(json, "predicted", kUnknownValue), {}};
    for (const auto& near : json.at("nearest")) query.nearest.push_back(neighbour_image(near, "id"));
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
  record.judged = value_or(json, "data", Json::object());
  record.options = value_or(json, "options", Json::object());
  for_each_split(json, "metrics", [&](const auto& name, const Json& value) { record.metrics.emplace_back(name, number_or_nan(value)); });
  for_each_split(json, "intervals", [&](const auto& name, const Json& value) {
    record.intervals[name] = {number_or_nan(value.at(0)), number_or_nan(value.at(1))};
  });
  record.notes = value_or(json, "notes", std::vector<std::string>());
  for_each_split(json, "groups", [&](const auto& split, const Json& value) { record.groups[split] = group_table(value, path); });
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

std::vector<EvaluationRecord> read_evaluations(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<EvaluationRecord> records;
  for (const auto& path : paths) {
    const Json json = read_json_object(path, kLargestEvaluation);
    records.push_back(read_fields(path, [&] { return evaluation_record(path, json); }));
  }
  return records;
}

}  // namespace debias
