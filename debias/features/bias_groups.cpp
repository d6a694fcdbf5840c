#include "debias/features/bias_groups.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
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

// Cramer's V of the class and a column among rows of the same value of `given`, corrected; mean of squares weighted by rows.
double association_within(const TableRows& rows, const JointBias& given, size_t column, const std::vector<int64_t>& counted) {
  std::map<int64_t, std::vector<int64_t>> strata;
  for (const int64_t i : counted) strata[given.values[static_cast<size_t>(i)]].push_back(i);
  strata.erase(kUnknown);
  const JointBias own = joint_bias(rows, {column});
  double sum = 0, all = 0;
  for (const auto& [value, places] : strata) {
    const double v = cramers_v(bias_groups(rows, own, places), /*corrected=*/true);
    sum += v * v * static_cast<double>(places.size());
    all += static_cast<double>(places.size());
  }
  return all > 0 ? std::sqrt(sum / all) : 0;
}

// Among the rows that contradict `given`, the share in which a column has the value that it has most often beside that of `given`. A copy
// follows `given` there, and another bias of the class follows the class.
double repeated_share(const TableRows& rows, const JointBias& given, size_t column, const std::vector<int64_t>& counted) {
  const JointBias own = joint_bias(rows, {column});
  const BiasGroups groups = bias_groups(rows, given, counted);
  std::map<int64_t, std::map<int64_t, int64_t>> beside;
  std::vector<std::pair<int64_t, int64_t>> contradicting;
  for (const int64_t i : counted) {
    const int64_t first = given.values[static_cast<size_t>(i)], second = own.values[static_cast<size_t>(i)];
    if (first == kUnknown || second == kUnknown) continue;
    ++beside[first][second];
    if (groups.is_conflicting(groups.of_row[static_cast<size_t>(i)])) contradicting.emplace_back(first, second);
  }
  if (contradicting.empty()) return 0;
  const auto is_usual = [&](const std::pair<int64_t, int64_t>& pair) {
    const auto& counts = beside.at(pair.first);
    return std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; })->first == pair.second;
  };
  return static_cast<double>(std::ranges::count_if(contradicting, is_usual)) / static_cast<double>(contradicting.size());
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
  BiasGroups groups{{std::ssize(rows.classes), std::ssize(bias.names)}, {}, {}, {}};
  for (size_t i = 0; i < rows.labels.size(); ++i) groups.of_row.push_back(groups.group(rows.labels[i], bias.values[i]));
  for (const int64_t i : counted) groups.add(groups.of_row[static_cast<size_t>(i)]);
  groups.is_usual.resize(groups.count.size());
  for (int64_t y = 0; const std::vector<int64_t>& usual : groups.usual()) {
    for (const int64_t b : usual) groups.is_usual[static_cast<size_t>(groups.group(y, b))] = true;
    ++y;
  }
  for (const int64_t rows_of_bias : groups.of_biases()) groups.is_seen.push_back(rows_of_bias > 0);
  return groups;
}

GroupingColumns grouping_columns(const TableRows& rows, const std::vector<int64_t>& counted) {
  if (rows.biases.size() < 2) return {rows.biases, {}};
  GroupingColumns columns;
  std::vector<std::pair<double, size_t>> associated;
  const auto left_out = [&](size_t place, const std::string& why) {
    columns.remarks.push_back(fmt::format("bias column '{}' {}: groups are without it", rows.columns[place].name, why));
  };
  for (const size_t place : rows.biases) {
    const double v = cramers_v(bias_groups(rows, joint_bias(rows, {place}), counted), /*corrected=*/true);
    if (v >= kAssociatedColumn) {
      associated.emplace_back(v, place);
    } else {
      left_out(place, fmt::format("is not associated with the class (Cramer's V {:.2f})", v));
    }
  }
  if (associated.empty()) return {rows.biases, {}};
  std::ranges::stable_sort(associated, std::ranges::greater(), &std::pair<double, size_t>::first);
  std::vector<size_t> used;
  for (const auto& [v, place] : associated) {
    if (used.empty()) {
      used.push_back(place);
      continue;
    }
    const JointBias earlier = joint_bias(rows, used);
    const double repeated = repeated_share(rows, earlier, place, counted), within = association_within(rows, earlier, place, counted);
    if (repeated >= kRepeatedShare) {
      left_out(place, fmt::format("mostly repeats '{}' (in {:.0f} % of the rows that contradict it)", earlier.name, 100 * repeated));
    } else if (within < kAssociatedColumn) {
      left_out(place, fmt::format("adds nothing to '{}' (Cramer's V with the class {:.2f} among rows of the same values there)",
                                  earlier.name, within));
    } else {
      used.push_back(place);
    }
  }
  std::ranges::copy_if(rows.biases, std::back_inserter(columns.used),
                       [&](size_t place) { return std::ranges::find(used, place) != used.end(); });
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

double independence_p(const GroupCounts& groups) {
  const auto seen = [](const std::vector<int64_t>& counts) {
    return std::ranges::count_if(counts, [](int64_t count) { return count > 0; });
  };
  const std::ptrdiff_t classes = seen(groups.of_classes()), biases = seen(groups.of_biases());
  if (classes < 2 || biases < 2) return 1;
  const auto all = static_cast<double>(std::accumulate(groups.count.begin(), groups.count.end(), int64_t{0}));
  const double v = cramers_v(groups), freedom = static_cast<double>((classes - 1) * (biases - 1));
  const double squared = all * v * v * static_cast<double>(std::min(classes, biases) - 1), spread = 2 / (9 * freedom);
  return 0.5 * std::erfc((std::cbrt(squared / freedom) - (1 - spread)) / std::sqrt(2 * spread));
}

}  // namespace debias
