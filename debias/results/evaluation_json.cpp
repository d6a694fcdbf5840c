#include <fmt/format.h>
#include <fmt/ranges.h>

#include "debias/results/evaluation_record.h"

namespace debias {
namespace {

Json similarity_json(const std::map<std::string, SimilarityHistogram>& sets) {
  Json json;
  for (const auto& [name, set] : sets) {
    json[name] = {{"pairs", set.pairs}, {"mean", number_or_null(set.mean)}, {"std", number_or_null(set.std)}, {"histogram", set.histogram}};
  }
  return json;
}

Json map_json(const FeatureMap& map) {
  Json json = {{"ids", map.ids}, {"points", Json::array()}, {"labels", map.labels}};
  for (const auto& [x, y] : map.points) json["points"].push_back({x, y});
  if (!map.biases.empty()) json["bias"] = map.biases;
  json["kl"] = number_or_null(map.kl);
  json["perplexity"] = number_or_null(map.perplexity);
  return json;
}

Json image_json(const NeighbourImage& image, const char* id) {
  Json json = {{id, image.id}, {"label", image.label}};
  if (image.bias != kUnknownValue) json["bias"] = image.bias;
  return json;
}

Json neighbours_json(const std::vector<NeighbourQuery>& queries) {
  Json list = Json::array();
  for (const auto& query : queries) {
    Json json = image_json(query.image, "query");
    json["predicted"] = query.predicted;
    for (const auto& near : query.nearest) {
      json["nearest"].push_back(image_json(near, "id"));
      json["nearest"].back()["cosine"] = number_or_null(near.cosine);
    }
    list.push_back(json);
  }
  return list;
}

// Calls `add` for the parts of the splits, in the order of evaluation.
template <class Parts, class Add>
void for_each_split(const Parts& parts, const Add& add) {
  for (const char* split : {"train", "valid", "test"}) {
    if (const auto found = parts.find(split); found != parts.end()) add(found->first, found->second);
  }
}

void add_aligned(const AlignedValues& aligned, Json& json) {
  Json& of_class = json["aligned"] = Json::object();
  for (const auto& [label, biases] : aligned.biases_of_class) of_class[label] = biases;
  json["aligned_by"] = aligned.by;
  json["aligned_share"] = number_or_null(aligned.share);
  json["aligned_share_by_chance"] = number_or_null(aligned.share_by_chance);
  for (const auto& note : aligned.notes) json["notes"].push_back(note);
}

// Whose predictions, and what they are by class or by group.
void add_predictions(const EvaluationRecord& record, Json& json) {
  if (!record.predictions.empty()) json["predictions"] = record.predictions;
  for_each_split(record.classes, [&](const std::string& split, const ClassTable& table) {
    if (!record.groups.contains(split)) json["by_class"][split] = class_table_json(table);
  });
  if (record.aligned) add_aligned(*record.aligned, json);
  for (const auto& [name, value] : record.side_metrics) json["sides"][name] = number_or_null(value);
  for_each_split(record.neighbours,
                 [&](const std::string& split, const auto& queries) { json["neighbours"][split] = neighbours_json(queries); });
  for (const auto& [name, interval] : record.intervals) json["intervals"][name] = {interval.first, interval.second};
  for_each_split(record.groups, [&](const std::string& split, const GroupTable& table) {
    json["groups"][split] = group_table_json(table, record.classes.at(split));
  });
  for_each_split(record.marks, [&](const std::string& split, const std::string& marks) { json["marks"][split] = marks; });
  for_each_split(record.examples, [&](const std::string& split, const auto& images) {
    for (const ExampleImage& image : images) {
      json["examples"][split].push_back(
          {{"id", image.id}, {"aligned", image.aligned}, {"label", image.label}, {"bias", image.bias}, {"predicted", image.predicted}});
    }
  });
  for_each_split(record.clusterings, [&](const std::string& split, const auto& clusterings) {
    for (const auto& [name, one] : clusterings) {
      json["clusterings"][split][name] = {{"accuracy", number_or_null(one.accuracy)}, {"cells", one.cells}};
    }
  });
}

void add_features(const EvaluationRecord& record, Json& json) {
  for_each_split(record.similarity, [&](const std::string& split, const auto& sets) { json["similarity"][split] = similarity_json(sets); });
  if (const auto& probe = record.bias_probe) {
    json["bias_probe"] = {{"values", probe->values},
                          {"converged", probe->converged},
                          {"iterations", probe->iterations},
                          {"gradient", number_or_null(probe->gradient)},
                          {"objective", number_or_null(probe->objective)}};
  }
  for_each_split(record.maps, [&](const std::string& split, const FeatureMap& map) { json["map"][split] = map_json(map); });
  if (const auto& training = record.trained_probe) {
    json["train_loss"] = number_or_null(training->loss);
    if (training->epochs) json["epochs"] = *training->epochs;
    if (training->best_epoch) json["best_epoch"] = *training->best_epoch;
    if (!training->selected_on.empty()) json["selected_on"] = training->selected_on;
  }
  for (const auto& [split, count] : record.anchors) json["anchors"][split] = count;
  for (const auto& [split, count] : record.queries) json["queries"][split] = count;
  for (const auto& [setting, count] : record.drawn) json["drawn"][setting] = count;
  for (const auto& [name, values] : record.by_draw) {
    Json& list = json["by_draw"][name] = Json::array();
    for (const double value : values) list.push_back(number_or_null(value));
  }
}

void add_notes(const std::vector<std::string>& notes, Json& json) {
  if (notes.empty() && !json.contains("notes")) json["notes"] = Json::array();
  for (const auto& note : notes) json["notes"].push_back(note);
}

}  // namespace

Json to_json(const EvaluationRecord& record) {
  Json json = {{"protocol", record.protocol}};
  for (const auto& [name, value] : record.metrics) json["metrics"][name] = number_or_null(value);
  json["options"] = record.options;
  json["classes"] = record.class_count;
  for (const auto& [split, count] : record.counts) json["counts"][split] = count;
  for (const auto& [split, count] : record.group_counts) json["group_counts"][split] = count;
  if (!record.group_counts.empty()) json["groups_from"] = record.groups_from;
  for (const auto& [split, groups] : record.group_of) json["group_of"][split] = fmt::format("{}", fmt::join(groups, " "));
  add_tasks(record.tasks, json);
  add_predictions(record, json);
  add_features(record, json);
  if (record.notes) add_notes(*record.notes, json);
  if (record.checkpoint.empty()) return json;
  json["checkpoint"] = record.checkpoint;
  json["epoch"] = record.epoch;
  for (const auto& [split, section] : record.evaluated.items()) json["data"][split] = section;
  for (const auto& [key, value] : record.recipe_changes) json["recipe_changes"][key] = value ? Json(*value) : Json();
  if (!record.accepted_changes.empty()) json["accepted_data_changes"] = record.accepted_changes;
  if (const auto& added = record.bias_values) {
    json["bias_values"] = {{"file", added->file}, {"column", added->column}, {"sha256", added->digest}, {"unknown", added->unknown}};
  }
  return json;
}

}  // namespace debias
