#include "debias/evaluate/table_input.h"

#include <ATen/ATen.h>

#include <optional>

#include "debias/core/error.h"
#include "debias/features/feature_table.h"

namespace debias {

Features table_features(const FeatureTable& table, const Dataset& rows, const std::vector<int64_t>& places) {
  Features features;
  features.values = at::empty({std::ssize(places), table.vectors.dimensions()}, at::kFloat);
  table.vectors.read_places(places, features.values.mutable_data_ptr<float>());
  for (int64_t i = 0; i < rows.size(); ++i) {
    features.labels.push_back(rows.label(i));
    features.biases.push_back(rows.bias(i));
    features.indices.push_back(i);
  }
  return features;
}

EvaluationInput table_input(const FeatureTable& table, uint64_t seed, std::optional<JointBias> bias) {
  if (!bias && !table.rows.biases.empty()) bias = joint_bias(table.rows);
  EvaluationInput input;
  input.seed = seed;
  input.training_temperature = kTableTemperature;
  const auto add = [&](TableSplit split, std::shared_ptr<const Dataset>& dataset) {
    const std::vector<int64_t> places = table.of_split(split);
    if (places.empty()) return;
    const std::string name(enum_name(split));
    dataset = table_dataset(table.rows, bias ? &*bias : nullptr, places, name);
    input.stored[name] = table_features(table, *dataset, places);
  };
  add(TableSplit::kTrain, input.train);
  add(TableSplit::kValid, input.valid);
  add(TableSplit::kTest, input.test);
  if (input.train == nullptr) throw data_error("{}: no row has split train; protocols need training rows", table.rows.path);
  if (input.valid != nullptr || input.test != nullptr) return input;
  input.test = input.train;
  input.stored["test"] = input.stored.at("train");
  input.leaves_one_out = true;
  return input;
}

}  // namespace debias
