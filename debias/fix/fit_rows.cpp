#include "debias/fix/fit_rows.h"

#include <ATen/ATen.h>

#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "debias/core/error.h"

namespace debias {
namespace {

// The bias columns of a feature table as numbers for erasure: one-hot for each categorical column, standardised for
// each numeric one, concatenated.

struct BiasDesign {
  at::Tensor z;             // double [n, K]; 0 in unknown rows
  std::vector<bool> known;  // [n]: whether all bias columns of the row are known
};

// `values`: how many different ones the training rows have; more than one is enough.
void require_variation(const TableRows& rows, const TableColumn& column, int64_t values) {
  if (values > 1) return;
  if (values == 1) {
    throw data_error("{}: bias column '{}' has one value in the training rows; name a column that varies with --bias", rows.path,
                     column.name);
  }
  throw data_error("{}: bias column '{}' has no value in the training rows; fill it, or name another column with --bias", rows.path,
                   column.name);
}

at::Tensor numeric_column(const TableRows& rows, const TableColumn& column, const std::vector<int64_t>& places, BiasDesign& design) {
  at::Tensor z = at::zeros({std::ssize(places), 1}, at::kDouble);
  double* out = z.mutable_data_ptr<double>();
  double sum = 0, squares = 0, count = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    const double value = column.numbers[static_cast<size_t>(places[i])];
    out[i] = value;
    if (std::isnan(value)) {
      design.known[i] = false;
      continue;
    }
    sum += value;
    ++count;
  }
  const double mean = count > 0 ? sum / count : 0;
  for (size_t i = 0; i < places.size(); ++i) squares += std::isnan(out[i]) ? 0 : (out[i] - mean) * (out[i] - mean);
  require_variation(rows, column, squares > 0 ? 2 : count > 0 ? 1 : 0);
  const double deviation = std::sqrt(squares / count);
  for (size_t i = 0; i < places.size(); ++i) out[i] = std::isnan(out[i]) ? 0 : (out[i] - mean) / deviation;
  return z;
}

at::Tensor one_hot_columns(const TableRows& rows, const TableColumn& column, const std::vector<int64_t>& places, BiasDesign& design) {
  const auto values = static_cast<int64_t>(column.names.size());
  at::Tensor z = at::zeros({std::ssize(places), values}, at::kDouble);
  double* out = z.mutable_data_ptr<double>();
  std::vector<int64_t> count(column.names.size());
  for (size_t i = 0; i < places.size(); ++i) {
    const int64_t value = column.values[static_cast<size_t>(places[i])];
    if (value == kUnknown) {
      design.known[i] = false;
      continue;
    }
    out[static_cast<int64_t>(i) * values + value] = 1;
    ++count[static_cast<size_t>(value)];
  }
  require_variation(rows, column, std::count_if(count.begin(), count.end(), [](int64_t c) { return c > 0; }));
  return z;
}

// The bias design of the rows `places`, in that order.
BiasDesign bias_design(const TableRows& rows, const std::vector<int64_t>& places) {
  BiasDesign design{{}, std::vector<bool>(places.size(), true)};
  std::vector<at::Tensor> parts;
  for (const size_t place : rows.biases) {
    const TableColumn& column = rows.columns[place];
    parts.push_back(column.numeric ? numeric_column(rows, column, places, design) : one_hot_columns(rows, column, places, design));
  }
  design.z = at::cat(parts, 1);
  return design;
}
// Number of groups of each class that have rows.
std::vector<double> groups_of_classes(const FitRows& rows, const std::vector<int64_t>& groups) {
  std::vector<std::set<int64_t>> of_class(static_cast<size_t>(rows.classes));
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i] != kUnknown) of_class[static_cast<size_t>(rows.labels[i])].insert(groups[i]);
  }
  std::vector<double> counts;
  for (const auto& own : of_class) counts.push_back(static_cast<double>(own.size()));
  return counts;
}

at::Tensor scaled_as_plain(const FitRows& rows, const at::Tensor& weights) {
  const double sum = weights.sum().item<double>();
  return sum > 0 ? weights * (rows.plain.sum().item<double>() / sum) : weights;
}

bool has_several_columns(const JointBias& bias) { return !bias.parts.empty() && bias.parts.front().size() > 1; }

// `counts`: the rows of each group.
at::Tensor balanced_weights(const FitRows& rows, const std::vector<int64_t>& groups, const std::vector<double>& counts) {
  const std::vector<double> in_class = groups_of_classes(rows, groups);
  at::Tensor weights = rows.plain.clone();
  double* weight = weights.mutable_data_ptr<double>();
  for (size_t i = 0; i < groups.size(); ++i) {
    const int64_t group = groups[i];
    weight[i] = group == kUnknown ? 0 : weight[i] / (counts[static_cast<size_t>(group)] * in_class[static_cast<size_t>(rows.labels[i])]);
  }
  return scaled_as_plain(rows, weights);
}

constexpr size_t kSweeps = 50;

// Of several columns, whose values each group consists of.
at::Tensor raked_weights(const FitRows& rows, const std::vector<int64_t>& groups, const JointBias& bias) {
  const size_t biases = bias.names.size(), columns = bias.parts.front().size();
  std::vector<double> mass(static_cast<size_t>(rows.classes) * biases);  // plain weights of each group
  const double* plain = rows.plain.const_data_ptr<double>();
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i] != kUnknown) mass[static_cast<size_t>(groups[i])] += plain[i];
  }
  std::vector<double> raked = mass;
  for (size_t step = 0; step < kSweeps * columns; ++step) {
    std::map<std::pair<size_t, int64_t>, double> sums;  // by class and value of the step's column
    std::map<size_t, double> values;                    // that occur, by class
    const auto key = [&](size_t group) { return std::pair(group / biases, bias.parts[group % biases][step % columns]); };
    for (size_t g = 0; g < raked.size(); ++g) {
      if (raked[g] > 0) sums[key(g)] += raked[g];
    }
    for (const auto& [place, sum] : sums) ++values[place.first];
    for (size_t g = 0; g < raked.size(); ++g) {
      if (raked[g] > 0) raked[g] /= sums[key(g)] * values[g / biases];
    }
  }
  at::Tensor weights = rows.plain.clone();
  double* weight = weights.mutable_data_ptr<double>();
  for (size_t i = 0; i < groups.size(); ++i) {
    const auto g = static_cast<size_t>(groups[i]);
    weight[i] *= groups[i] == kUnknown ? 0 : raked[g] / mass[g];
  }
  return scaled_as_plain(rows, weights);
}

// A group has the same weight whatever share of its rows is known.
at::Tensor erasing_weights(const FitRows& rows, const std::vector<bool>& known, const JointBias& bias, size_t groups) {
  std::vector<int64_t> own = rows.groups;
  std::vector<double> sums(groups);
  const double* plain = rows.plain.const_data_ptr<double>();
  for (size_t i = 0; i < own.size(); ++i) {
    if (!known[i]) own[i] = kUnknown;
    if (own[i] != kUnknown) sums[static_cast<size_t>(own[i])] += plain[i];
  }
  return has_several_columns(bias) ? raked_weights(rows, own, bias) : balanced_weights(rows, own, sums);
}

}  // namespace

FitRows fit_rows(StandardRows x, const TableRows& table, const JointBias& bias, const BiasGroups& groups,
                 const std::vector<int64_t>& places, const std::vector<double>& importance) {
  const int64_t n = x.size();
  FitRows rows{std::move(x), {}, {}, {}, {}, at::ones({n}, at::kDouble), {}, {}, std::ssize(table.classes)};
  BiasDesign design = bias_design(table, places);
  rows.z = std::move(design.z);
  for (size_t i = 0; i < places.size(); ++i) {
    const auto place = static_cast<size_t>(places[i]);
    rows.labels.push_back(table.labels[place]);
    rows.groups.push_back(groups.of_row[place]);
  }
  rows.targets = at::tensor(rows.labels, at::kLong);
  if (!importance.empty()) rows.plain = at::tensor(importance, at::kDouble);
  rows.balanced = has_several_columns(bias) ? raked_weights(rows, rows.groups, bias)
                                            : balanced_weights(rows, rows.groups, {groups.count.begin(), groups.count.end()});
  const auto is_left_out = [&](size_t i) { return !design.known[i] && rows.groups[i] != kUnknown; };
  bool all = true;
  for (size_t i = 0; i < places.size(); ++i) all = all && !is_left_out(i);
  rows.erased = all ? rows.balanced : erasing_weights(rows, design.known, bias, groups.count.size());
  return rows;
}

}  // namespace debias
