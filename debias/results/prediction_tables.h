// Tables of predictions: accuracy by class and bias label, rates by bias label, and which class was taken for which. As a protocol counts
// them, as a file holds them, and as a page shows them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/results/json_file.h"

namespace debias {

// Rates of the images of one bias label, by class, with the class as the positive one: fairlearn's rates (group_tables.h); NaN if there is
// nothing to count.
struct BiasRates {
  std::string bias;
  int64_t count = 0;
  double accuracy = 0, error_rate = 0;
  std::vector<double> selection_rate, true_positive_rate, false_positive_rate, false_negative_rate;
};

struct GroupTable {
  std::vector<std::string> labels, biases;
  std::vector<std::vector<int64_t>> count;    // [label][bias]
  std::vector<std::vector<double>> accuracy;  // the same; NaN in an empty group
  std::vector<BiasRates> rates;               // by bias label; empty in files that do not have them
};

struct ClassTable {
  std::vector<std::string> classes;
  std::vector<int64_t> count, predicted;        // images of the class, and taken for it
  std::vector<double> accuracy;                 // NaN of a class without images
  std::vector<std::vector<int64_t>> confusion;  // [label][predicted]; empty where there is none
};

// {"labels", "biases", "count", "accuracy", the keys of the class table, "by_bias": {bias label: {"count", "accuracy", "error_rate", and by
// class "selection_rate", "true_positive_rate", "false_positive_rate", "false_negative_rate"}}}; null where there is nothing to count.
Json group_table_json(const GroupTable& groups, const ClassTable& classes);
// {"confusion", "per_class": {class: {"count", "predicted", "accuracy"}}}.
Json class_table_json(const ClassTable& table);

// Reads one split. A json::exception on other types; data errors, naming `path`, on tables that do not fit together.
GroupTable read_group_table(const Json& json, const std::string& path);
// Empty where `json` has no "per_class".
ClassTable read_class_table(const Json& json, const std::string& path);

}  // namespace debias
