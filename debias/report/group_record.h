// The tables of an evaluation file: accuracy by class and bias value, rates by bias value, and which class was taken for which.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/report/json_file.h"

namespace debias {

// Of the images of one bias value. By class, with the class as the positive one; NaN where there is nothing to count.
struct BiasRates {
  std::string bias;
  int64_t count = 0;
  double accuracy = 0, error_rate = 0;
  std::vector<double> selection_rate, true_positive_rate, false_positive_rate;
};

struct GroupTable {
  std::vector<std::string> labels, biases;
  std::vector<std::vector<int64_t>> count;    // [label][bias]
  std::vector<std::vector<double>> accuracy;  // the same; NaN in an empty group
  std::vector<BiasRates> rates;               // by bias value; empty in files that do not have them
};

struct ClassTable {
  std::vector<std::string> classes;
  std::vector<int64_t> count, predicted;        // images of the class, and taken for it
  std::vector<double> accuracy;                 // NaN of a class without images
  std::vector<std::vector<int64_t>> confusion;  // [label][predicted]; empty where the file has none
};

// Of one split. A json::exception on other types; data errors, naming `path`, on tables that do not fit together.
GroupTable read_group_table(const Json& json, const std::string& path);
// Empty where `json` has no "per_class".
ClassTable read_class_table(const Json& json, const std::string& path);

std::vector<std::vector<double>> numbers_2d(const Json& rows);  // NaN of null

}  // namespace debias
