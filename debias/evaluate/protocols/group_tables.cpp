#include "debias/evaluate/protocols/group_tables.h"

#include <cmath>

#include "debias/data/value_name.h"

namespace debias {
namespace {

double rate(int64_t part, int64_t whole) { return whole == 0 ? kNotKnown : static_cast<double>(part) / static_cast<double>(whole); }

std::vector<std::string> name_list(const std::vector<std::string>& names, int64_t count) {
  std::vector<std::string> list;
  for (int64_t i = 0; i < count; ++i) list.push_back(value_name(names, i));
  return list;
}

BiasRates rates_of_bias(const PredictionCounts& counts, int64_t bias, const std::vector<std::string>& bias_names) {
  int64_t members = 0, right = 0;
  for (int64_t c = 0; c < counts.classes; ++c) {
    members += counts.count[c * counts.biases + bias];
    right += counts.correct[c * counts.biases + bias];
  }
  BiasRates rates;
  rates.bias = value_name(bias_names, bias);
  rates.count = members;
  rates.accuracy = rate(right, members);
  rates.error_rate = rate(members - right, members);
  for (int64_t c = 0; c < counts.classes; ++c) {
    const auto cell = static_cast<size_t>(c * counts.biases + bias);
    const int64_t positives = counts.count[cell], hits = counts.correct[cell], chosen = counts.predicted[cell];
    rates.selection_rate.push_back(rate(chosen, members));
    rates.true_positive_rate.push_back(rate(hits, positives));
    rates.false_positive_rate.push_back(rate(chosen - hits, members - positives));
    rates.false_negative_rate.push_back(rate(positives - hits, positives));
  }
  return rates;
}

}  // namespace

GroupTable group_table(const DatasetInfo& info, const PredictionCounts& counts) {
  GroupTable table{name_list(info.class_names, counts.classes), name_list(info.bias_names, counts.biases), {}, {}, {}};
  for (int64_t y = 0; y < counts.classes; ++y) {
    auto& count = table.count.emplace_back();
    auto& accuracy = table.accuracy.emplace_back();
    for (int64_t b = 0; b < counts.biases; ++b) {
      const auto cell = static_cast<size_t>(y * counts.biases + b);
      count.push_back(counts.count[cell]);
      accuracy.push_back(rate(counts.correct[cell], counts.count[cell]));
    }
  }
  for (int64_t b = 0; b < counts.biases; ++b) table.rates.push_back(rates_of_bias(counts, b, info.bias_names));
  return table;
}

}  // namespace debias
