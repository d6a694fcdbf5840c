#include "debias/evaluate/protocols/group_tables.h"

#include <cmath>

#include "debias/data/value_name.h"
#include "debias/evaluate/confusion.h"

namespace debias {
namespace {

using Json = nlohmann::ordered_json;

Json rate(int64_t part, int64_t whole) { return whole == 0 ? Json() : Json(static_cast<double>(part) / static_cast<double>(whole)); }

Json name_list(const std::vector<std::string>& names, int64_t count) {
  Json list = Json::array();
  for (int64_t i = 0; i < count; ++i) list.push_back(value_name(names, i));
  return list;
}

Json rates_of_bias(const GroupCounts& counts, int64_t bias, const std::vector<std::string>& class_names) {
  int64_t members = 0, right = 0;
  for (int64_t c = 0; c < counts.classes; ++c) {
    members += counts.count[c * counts.groups + bias];
    right += counts.correct[c * counts.groups + bias];
  }
  Json json = {{"count", members}, {"accuracy", rate(right, members)}, {"error_rate", rate(members - right, members)}};
  for (int64_t c = 0; c < counts.classes; ++c) {
    const auto cell = static_cast<size_t>(c * counts.groups + bias);
    const int64_t positives = counts.count[cell], hits = counts.correct[cell], chosen = counts.predicted[cell];
    const std::string name = value_name(class_names, c);
    json["selection_rate"][name] = rate(chosen, members);
    json["true_positive_rate"][name] = rate(hits, positives);
    json["false_positive_rate"][name] = rate(chosen - hits, members - positives);
    json["false_negative_rate"][name] = rate(positives - hits, positives);
  }
  return json;
}

}  // namespace

Json group_tables(const DatasetInfo& info, const GroupSamples& samples, const GroupCounts& counts) {
  Json json = {{"labels", name_list(info.class_names, counts.classes)}, {"biases", name_list(info.bias_names, counts.groups)}};
  for (int64_t y = 0; y < counts.classes; ++y) {
    Json count = Json::array(), accuracy = Json::array();
    for (int64_t b = 0; b < counts.groups; ++b) {
      const auto cell = static_cast<size_t>(y * counts.groups + b);
      count.push_back(counts.count[cell]);
      accuracy.push_back(rate(counts.correct[cell], counts.count[cell]));
    }
    json["count"].push_back(count);
    json["accuracy"].push_back(accuracy);
  }
  add_confusion(samples.labels, samples.predictions, counts.classes, info.class_names, json);
  for (int64_t b = 0; b < counts.groups; ++b) json["by_bias"][value_name(info.bias_names, b)] = rates_of_bias(counts, b, info.class_names);
  return json;
}

}  // namespace debias
