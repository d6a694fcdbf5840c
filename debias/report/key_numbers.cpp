#include "debias/report/key_numbers.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

namespace debias {
namespace {

// Where a number stands: other data set, split, metric.
struct Key {
  std::string data, metric;
  bool operator<(const Key& other) const { return std::tie(data, metric) < std::tie(other.data, other.metric); }
};

using Numbers = std::map<Key, KeyNumber>;

void add_evaluation(const EvaluationRecord& record, Numbers& numbers) {
  for (const auto& [metric, value] : record.metrics) {
    const Key key{record.data, metric};
    if (numbers.contains(key) && record.protocol != "groups") continue;
    KeyNumber number{value, std::nullopt, std::filesystem::path(record.path).filename().string()};
    if (const auto interval = record.intervals.find(metric); interval != record.intervals.end()) number.interval = interval->second;
    numbers[key] = std::move(number);
  }
}

Numbers numbers_of(const RunRecord& run) {
  Numbers numbers;
  for (const auto& record : run.evaluations) add_evaluation(record, numbers);
  for (const auto& name : run.history.names) {
    const auto curve = run.history.by_epoch.find(name);
    if (curve == run.history.by_epoch.end() || curve->second.x.empty()) continue;
    if (split_of(name).split.empty() && name != "train_loss") continue;
    KeyNumber number{curve->second.y.back(), std::nullopt, fmt::format("epoch {:.0f}", curve->second.x.back())};
    numbers.emplace(Key{"", name}, std::move(number));
  }
  return numbers;
}

int place_of(const Key& key) {
  const std::string split = split_of(key.metric).split;
  const int of_split = split == "test" ? 0 : split == "valid" ? 1 : split == "train" ? 2 : 3;
  return (key.data.empty() ? 0 : 10) + of_split;
}

std::string heading_of(const Key& key) {
  const std::string split = split_of(key.metric).split;
  const std::string own = split.empty() ? "training" : split;
  return key.data.empty() ? own : fmt::format("{} of {}", own, key.data);
}

// What an interval was measured on; null where the files do not say.
Json judged_data(const RunRecord& run, const Key& key) {
  for (const auto& record : run.evaluations) {
    if (record.data != key.data || !record.intervals.contains(key.metric)) continue;
    const auto found = record.judged.find(split_of(key.metric).split);
    if (found == record.judged.end()) return {};
    Json section = *found;
    if (section.is_object()) section.erase("root");
    return section;
  }
  return {};
}

int best_of(const NumberRow& row, const Key& key, const std::vector<RunRecord>& runs) {
  if (row.title.better == Better::kNeither || runs.size() < 2) return -1;
  const Json data = judged_data(runs[0], key);
  if (data.is_null()) return -1;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!row.by_run[i] || !row.by_run[i]->interval || judged_data(runs[i], key) != data) return -1;
  }
  const auto apart = [&](size_t i, size_t other) {
    const auto& [low, high] = *row.by_run[i]->interval;
    const auto& [other_low, other_high] = *row.by_run[other]->interval;
    return row.title.better == Better::kHigher ? low > other_high : high < other_low;
  };
  for (size_t i = 0; i < runs.size(); ++i) {
    bool best = true;
    for (size_t other = 0; other < runs.size(); ++other) best = best && (other == i || apart(i, other));
    if (best) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

std::vector<NumberRow> key_numbers(const std::vector<RunRecord>& runs) {
  std::vector<Numbers> by_run;
  std::set<Key> found;
  for (const auto& run : runs) {
    by_run.push_back(numbers_of(run));
    for (const auto& entry : by_run.back()) found.insert(entry.first);
  }
  std::vector<Key> keys(found.begin(), found.end());
  const auto order = [](const Key& key) {
    return std::tuple(place_of(key), key.data, metric_title(split_of(key.metric).name).place, key.metric);
  };
  std::sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) { return order(a) < order(b); });
  std::vector<NumberRow> rows;
  for (const auto& key : keys) {
    NumberRow row{heading_of(key), key.metric, metric_title(split_of(key.metric).name), {}, -1};
    for (const auto& numbers : by_run) {
      const auto number = numbers.find(key);
      row.by_run.push_back(number == numbers.end() ? std::nullopt : std::optional(number->second));
    }
    row.best = best_of(row, key, runs);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string interval_level(const std::vector<RunRecord>& runs) {
  std::set<std::string> levels;
  for (const auto& run : runs) {
    for (const auto& record : run.evaluations) {
      if (record.intervals.empty()) continue;
      const auto level = record.options.find("level");
      levels.insert(level == record.options.end() || !level->is_number() ? "" : fmt::format("{:g} %", 100 * level->get<double>()));
    }
  }
  return levels.size() == 1 ? *levels.begin() : "";
}

}  // namespace debias
