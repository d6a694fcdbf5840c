#include "debias/features/bias_groups.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace debias {
namespace {

struct NamedValues {
  std::vector<std::string> names;
  std::vector<int64_t> values;
};

NamedValues by_thirds(const TableColumn& column) {
  std::vector<double> known;
  std::copy_if(column.numbers.begin(), column.numbers.end(), std::back_inserter(known), [](double value) { return !std::isnan(value); });
  std::sort(known.begin(), known.end());
  std::vector<double> bounds;
  for (const size_t third : {1, 2}) {
    if (known.empty()) break;
    const double bound = known[std::min(known.size() * third / 3, known.size() - 1)];
    if (bound < known.back() && (bounds.empty() || bound > bounds.back())) bounds.push_back(bound);
  }
  NamedValues thirds;
  for (const double bound : bounds) thirds.names.push_back(fmt::format("{} <= {}", column.name, bound));
  thirds.names.push_back(bounds.empty() ? column.name : fmt::format("{} > {}", column.name, bounds.back()));
  for (const double value : column.numbers) {
    const auto third = std::lower_bound(bounds.begin(), bounds.end(), value) - bounds.begin();
    thirds.values.push_back(std::isnan(value) ? kUnknown : static_cast<int64_t>(third));
  }
  return thirds;
}

NamedValues named_values(const TableColumn& column) {
  return column.numeric ? by_thirds(column) : NamedValues{column.names, column.values};
}

}  // namespace

JointBias joint_bias(const TableRows& rows) { return joint_bias(rows, rows.biases); }

JointBias joint_bias(const TableRows& rows, const std::vector<size_t>& chosen) {
  std::vector<NamedValues> columns;
  JointBias joint;
  for (const size_t place : chosen) {
    columns.push_back(named_values(rows.columns[place]));
    joint.name += (joint.name.empty() ? "" : ", ") + rows.columns[place].name;
  }
  std::map<std::vector<int64_t>, int64_t> places;
  std::vector<std::vector<int64_t>> keys(static_cast<size_t>(rows.size()));
  for (size_t i = 0; i < keys.size(); ++i) {
    for (const NamedValues& column : columns) keys[i].push_back(column.values[i]);
    if (std::find(keys[i].begin(), keys[i].end(), kUnknown) == keys[i].end()) places.emplace(keys[i], 0);
  }
  for (auto& [key, place] : places) {
    place = std::ssize(joint.names);
    std::string name;
    for (size_t c = 0; c < key.size(); ++c) name += (c == 0 ? "" : ", ") + columns[c].names[static_cast<size_t>(key[c])];
    joint.names.push_back(name);
    joint.parts.push_back(key);
  }
  for (const auto& key : keys) {
    const auto found = places.find(key);
    joint.values.push_back(found == places.end() ? kUnknown : found->second);
  }
  return joint;
}

BiasGroups bias_groups(const TableRows& rows, const JointBias& bias, const std::vector<int64_t>& counted) {
  BiasGroups groups{{std::ssize(rows.classes), std::ssize(bias.names)}, {}, {}};
  for (size_t i = 0; i < rows.labels.size(); ++i) groups.of_row.push_back(groups.group(rows.labels[i], bias.values[i]));
  for (const int64_t i : counted) groups.add(groups.of_row[static_cast<size_t>(i)]);
  groups.majority = groups.majorities();
  return groups;
}

GroupingColumns grouping_columns(const TableRows& rows, const std::vector<int64_t>& counted) {
  if (rows.biases.size() < 2) return {rows.biases, {}};
  GroupingColumns columns;
  for (const size_t place : rows.biases) {
    const double v = cramers_v(bias_groups(rows, joint_bias(rows, {place}), counted), /*corrected=*/true);
    if (v >= kAssociatedColumn) {
      columns.used.push_back(place);
    } else {
      columns.remarks.push_back(fmt::format("bias column '{}' is not associated with the class (Cramer's V {:.2f}): groups are without it",
                                            rows.columns[place].name, v));
    }
  }
  if (columns.used.empty()) return {rows.biases, {}};
  return columns;
}

double cramers_v(const GroupCounts& groups, bool corrected) {
  const std::vector<int64_t> of_class = groups.of_classes(), of_bias = groups.of_biases();
  const auto all = static_cast<double>(std::accumulate(groups.count.begin(), groups.count.end(), int64_t{0}));
  const auto is_seen = [](int64_t count) { return count > 0; };
  const auto classes = std::count_if(of_class.begin(), of_class.end(), is_seen),
             biases = std::count_if(of_bias.begin(), of_bias.end(), is_seen);
  const int64_t rank = std::min(classes, biases) - 1;
  if (rank < 1) return 0;
  double sum = 0;  // of n_yb^2 / (n_y n_b)
  for (size_t g = 0; g < groups.count.size(); ++g) {
    const double expected = static_cast<double>(of_class[g / static_cast<size_t>(groups.biases)]) *
                            static_cast<double>(of_bias[g % static_cast<size_t>(groups.biases)]);
    if (expected > 0) sum += static_cast<double>(groups.count[g] * groups.count[g]) / expected;
  }
  if (!corrected) return std::sqrt(std::max(0.0, sum - 1) / static_cast<double>(rank));
  const auto fewer = [&](std::ptrdiff_t values) {
    const auto r = static_cast<double>(values);
    return r - (r - 1) * (r - 1) / (all - 1);
  };
  const double chance = static_cast<double>((classes - 1) * (biases - 1)) / (all - 1);
  const double least = std::min(fewer(classes), fewer(biases)) - 1;
  return least > 0 ? std::sqrt(std::max(0.0, sum - 1 - chance) / least) : 0;
}

}  // namespace debias
