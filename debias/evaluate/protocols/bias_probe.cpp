#include "debias/evaluate/protocols/bias_probe.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

#include "debias/evaluate/accuracy.h"

namespace debias {

std::optional<BiasProbe> fit_bias_probe(const Features& train, int64_t iterations, Progress& progress) {
  std::map<int64_t, int64_t> counts;
  std::vector<int64_t> rows;
  for (size_t i = 0; i < train.biases.size(); ++i) {
    if (train.biases[i] == kUnknown) continue;
    ++counts[train.biases[i]];
    rows.push_back(static_cast<int64_t>(i));
  }
  if (counts.size() < 2) return std::nullopt;
  BiasProbe probe;
  std::map<int64_t, int64_t> place;
  for (const auto& [value, count] : counts) {
    place[value] = std::ssize(probe.values);
    probe.values.push_back(value);
  }
  probe.majority = std::max_element(counts.begin(), counts.end(), [](auto& a, auto& b) { return a.second < b.second; })->first;
  std::vector<int64_t> targets;
  for (const int64_t row : rows) targets.push_back(place[train.biases[static_cast<size_t>(row)]]);
  const bool all = rows.size() == train.biases.size();
  const at::Tensor x = all ? train.values : train.values.index_select(0, at::tensor(rows, at::kLong));
  probe.fit = fit_logistic_regression(x, targets, std::ssize(probe.values), {.iterations = iterations}, progress);
  return probe;
}

BiasReading read_bias(const BiasProbe& probe, const Features& features) {
  const std::vector<int64_t> predicted = predicted_classes(probe.fit.logits(features.values));
  BiasReading reading;
  int64_t right = 0, majority = 0;
  for (size_t i = 0; i < predicted.size(); ++i) {
    if (features.biases[i] == kUnknown) continue;
    ++reading.known;
    right += features.biases[i] == probe.values[static_cast<size_t>(predicted[i])];
    majority += features.biases[i] == probe.majority;
  }
  if (reading.known == 0) return reading;
  const auto known = static_cast<double>(reading.known);
  reading.accuracy = static_cast<double>(right) / known;
  reading.majority_rate = static_cast<double>(majority) / known;
  reading.uniform_rate = 1 / static_cast<double>(probe.values.size());
  return reading;
}

}  // namespace debias
