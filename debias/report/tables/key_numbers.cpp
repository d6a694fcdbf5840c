#include "debias/report/tables/key_numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "debias/data/dataset_registry.h"
#include "debias/report/run_column.h"
#include "debias/report/tables/table_likeness.h"

namespace debias {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// Place of a number: other data set, metric, and whose predictions.
struct Key {
  std::string data, metric, source;
  bool operator<(const Key& other) const { return std::tie(data, metric, source) < std::tie(other.data, other.metric, other.source); }
};

using Numbers = std::map<Key, KeyNumber>;  // of one run

// Of neighbours-untrained.json, which training leaves beside neighbours.json; tasks of sentences, which have no split, are apart.
bool is_of_first_weights(const Key& key) { return key.data == "untrained" && !split_of(key.metric).split.empty(); }

void add_evaluation(const EvaluationRecord& record, const MetricTitles& titles, Numbers& numbers) {
  for (const auto& [metric, value] : record.metrics) {
    const Key key{record.data, metric, prediction_source(record, metric, titles)};
    if (numbers.contains(key) && !record.is_of_groups()) continue;
    KeyNumber number{value, IntervalKind::kNone, {}, std::filesystem::path(record.path).filename().string(), {value}};
    number.evaluation = &record;
    if (const auto interval = record.intervals.find(metric); interval != record.intervals.end()) {
      number.kind = record.by_draw.contains(metric) ? IntervalKind::kDraws : IntervalKind::kImages;
      number.interval = interval->second;
    }
    numbers[key] = std::move(number);
  }
}

void add_speed(const TrainingSpeed& speed, Numbers& numbers) {
  for (const auto& [metric, value] : speed.metrics()) {
    KeyNumber number{value, IntervalKind::kNone, {}, kEpochTimesFile, {value}};
    number.title = metric.title;
    numbers[{"", metric.name, ""}] = std::move(number);
  }
}

Numbers numbers_of(const RunRecord& run) {
  Numbers numbers;
  for (const auto& record : run.evaluations) add_evaluation(record, *run.titles, numbers);
  for (const auto& name : run.history.names) {
    const auto curve = run.history.by_epoch.find(name);
    if (curve == run.history.by_epoch.end() || curve->second.x.empty()) continue;
    const SplitName split = split_of(name);
    if (split.split.empty() && name != "train_loss") continue;
    const double value = curve->second.y.back();
    const std::string source = split.split == "train" ? "" : prediction_source(run, split.name);
    numbers.emplace(Key{"", name, source},
                    KeyNumber{value, IntervalKind::kNone, {}, fmt::format("epoch {:.0f}", curve->second.x.back()), {value}});
  }
  add_speed(run.speed, numbers);
  return numbers;
}

int place_of(const Key& key) {
  const std::string split = split_of(key.metric).split;
  const int of_split = split == "test" ? 0 : split == "valid" ? 1 : split == "train" ? 2 : 3;
  return (key.data.empty() || is_of_first_weights(key) ? 0 : key.data == kBefore ? 5 : 10) + of_split;
}

// `protocol`: whose file has the number; empty where training said it.
std::string heading_of(const Key& key, const std::string& protocol, const RunRecord& run) {
  const std::string split = split_of(key.metric).split;
  if (split.empty() && !key.data.empty()) return protocol + ", " + key.data;  // of tasks: untrained-cheap
  const std::string own = split.empty() ? "training" : run.shown_split(split);
  if (key.data == kBefore) return own + ", before the correction";
  return key.data.empty() || is_of_first_weights(key) ? own : fmt::format("{} of {}", own, key.data);
}

// `of_run`: what the runs themselves call it, empty where the program knows it.
MetricTitle title_of(const Key& key, const std::string& of_run, const MetricTitles& titles) {
  MetricTitle title = titles.of(key.metric);
  if (!of_run.empty()) title.title = of_run;
  if (!key.source.empty()) title.title += ", " + source_title(key.source);
  if (is_of_first_weights(key)) title.title += ", untrained encoder";
  return title;
}

// The number of a column; none where no run has it.
std::optional<KeyNumber> column_number(const RunColumn& column, const std::vector<Numbers>& by_run, const Key& key) {
  std::optional<KeyNumber> number;
  std::vector<double> values;
  std::string data;
  for (size_t i = 0; i < by_run.size(); ++i) {
    const auto found = by_run[i].find(key);
    values.push_back(found == by_run[i].end() ? kMissing : found->second.value);
    if (found == by_run[i].end()) continue;
    const EvaluationRecord* evaluation = found->second.evaluation;
    const std::string of_run = other_data(*column.runs[i], evaluation, key.metric);
    if (!number) {
      number = found->second;
      data = of_run;
    }
    number->evaluated_otherwise =
        number->evaluated_otherwise || of_run != data || !are_evaluated_alike(number->evaluation, evaluation, key.metric);
    if (number->evaluation == nullptr) number->evaluation = evaluation;
  }
  if (!number || by_run.size() == 1) return number;
  if (number->evaluated_otherwise) values.assign(values.size(), kMissing);
  const SeedInterval interval = seed_interval(values);
  number->value = interval.mean;
  number->kind = interval.n > 1 ? IntervalKind::kSeeds : IntervalKind::kNone;
  number->interval = {interval.low(), interval.high()};
  number->by_seed = std::move(values);
  return number;
}

void erase_root(Json& section) {
  if (section.is_object() && !data_set_is(value_or(section, "name", std::string()), &DatasetEntry::is_any_folder)) section.erase("root");
}

// The section of the data that a number was measured on; null where the files do not say.
Json evaluated_data(const RunRecord& run, const std::string& data, const std::string& split) {
  for (const auto& record : run.evaluations) {
    if (record.data != data) continue;
    const auto found = record.evaluated.find(split);
    if (found == record.evaluated.end()) continue;
    Json section = *found;
    erase_root(section);
    if (data.empty() && section.is_object() && !draw_of(run, split).empty()) section.erase("seed");  // the run's own, as a number
    return section;
  }
  return {};
}

// Data set that training evaluated; null if the recipe has no such set.
Json recipe_data(const RunRecord& run, const std::string& split) {
  Json section = run.recipe.data_of(split).section;
  erase_root(section);
  return section;
}

bool better(const NumberRow& row, const std::vector<RunColumn>& columns, size_t i, size_t other) {
  const KeyNumber &number = *row.by_column[i], &against = *row.by_column[other];
  const bool higher = row.title.better == Better::kHigher;
  if (number.kind == IntervalKind::kImages) {
    return higher ? number.interval.first > against.interval.second : number.interval.second < against.interval.first;
  }
  const ColumnDifference difference = column_difference(columns[i], number.by_seed, columns[other], against.by_seed);
  return difference.larger_than_spread() && (difference.interval.mean > 0) == higher;
}

bool evaluated_in_one_batch_size(const std::vector<RunColumn>& columns, const std::string& metric) {
  std::set<std::string> sizes;
  for (const auto& column : columns) {
    for (const RunRecord* run : column.runs) sizes.insert(evaluated_batch(*run, metric));
  }
  return sizes.size() == 1;
}

int best_of(const NumberRow& row, const std::vector<RunColumn>& columns) {
  const bool has_order = row.title.better == Better::kHigher || row.title.better == Better::kLower;
  if (!has_order || columns.size() < 2) return -1;
  if (!evaluated_alike(columns, row.data, split_of(row.metric).split) || !evaluated_in_one_batch_size(columns, row.metric)) return -1;
  for (const auto& number : row.by_column) {
    if (!number || number->kind == IntervalKind::kNone || number->kind == IntervalKind::kDraws) return -1;
    if (number->kind != row.by_column[0]->kind) return -1;
    const auto is_otherwise = [&](const auto& other) {
      return other && !are_evaluated_alike(other->evaluation, number->evaluation, row.metric);
    };
    if (std::ranges::any_of(row.by_column, is_otherwise)) return -1;
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    bool best = true;
    for (size_t other = 0; other < columns.size(); ++other) best = best && (other == i || better(row, columns, i, other));
    if (best) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

int64_t KeyNumber::seeds() const {
  return std::ranges::count_if(by_seed, [](double of_seed) { return !std::isnan(of_seed); });
}

bool evaluated_alike(const std::vector<RunColumn>& columns, const std::string& data, const std::string& split) {
  std::vector<const RunRecord*> runs;
  for (const auto& column : columns) runs.insert(runs.end(), column.runs.begin(), column.runs.end());
  const auto has_other_images = [&](const RunRecord* run) {
    const auto of_draw = std::ranges::find_if(runs, [&](const RunRecord* other) { return draw_of(*other, split) == draw_of(*run, split); });
    return compare_run_data(*runs.front(), *run, split) == DataLikeness::kDifferent ||
           compare_run_data(**of_draw, *run, split) == DataLikeness::kDifferent;
  };
  if (data.empty() && std::ranges::any_of(runs, has_other_images)) return false;
  const auto alike = [&](const auto& section_of) {
    const Json first = section_of(*runs.front());
    return !first.is_null() && std::ranges::all_of(runs, [&](const RunRecord* run) { return section_of(*run) == first; });
  };
  if (alike([&](const RunRecord& run) { return evaluated_data(run, data, split); })) return true;
  const bool said = std::ranges::all_of(runs, [&](const RunRecord* run) { return !evaluated_data(*run, data, split).is_null(); });
  return !said && data.empty() && alike([&](const RunRecord& run) { return recipe_data(run, split); });
}

std::vector<NumberRow> key_numbers(const std::vector<RunColumn>& columns) {
  std::vector<std::vector<Numbers>> by_column;
  std::set<Key> found;
  for (const auto& column : columns) {
    by_column.emplace_back();
    for (const RunRecord* run : column.runs) {
      by_column.back().push_back(numbers_of(*run));
      for (const auto& entry : by_column.back().back()) found.insert(entry.first);
    }
  }
  std::vector<Key> keys(found.begin(), found.end());
  const auto order = [&](const Key& key) {
    return std::tuple(place_of(key), key.data, columns.front().titles().of(key.metric).place, key.metric, key.source);
  };
  std::ranges::sort(keys, {}, order);
  std::vector<NumberRow> rows;
  for (const auto& key : keys) {
    NumberRow row{"", key.data, key.metric, key.source, {}, {}, -1};
    std::string of_run, protocol;
    const RunRecord* shown = &columns.front().shown();  // that has the number
    for (size_t i = 0; i < columns.size(); ++i) {
      row.by_column.push_back(column_number(columns[i], by_column[i], key));
      if (!row.by_column.back()) continue;
      if (of_run.empty() && protocol.empty()) shown = &columns[i].shown();
      if (of_run.empty()) of_run = row.by_column.back()->title;
      if (row.by_column.back()->evaluation != nullptr) protocol = row.by_column.back()->evaluation->protocol;
    }
    row.heading = heading_of(key, protocol, *shown);
    row.title = title_of(key, of_run, columns.front().titles());
    row.best = best_of(row, columns);
    rows.push_back(std::move(row));
  }
  return rows;
}

const NumberRow* find_row(const std::vector<NumberRow>& rows, const std::string& data, const std::string& metric,
                          const std::string& source) {
  const auto found =
      std::ranges::find_if(rows, [&](const NumberRow& row) { return row.data == data && row.metric == metric && row.source == source; });
  return found == rows.end() ? nullptr : &*found;
}

const NumberRow* row_with_number(const std::vector<NumberRow>& rows, const std::string& data, const std::string& metric, size_t column) {
  const NumberRow* found = nullptr;
  for (const auto& row : rows) {
    if (row.data != data || row.metric != metric || !row.by_column[column]) continue;
    const EvaluationRecord* evaluation = row.by_column[column]->evaluation;
    if (found == nullptr || (evaluation != nullptr && evaluation->is_of_groups())) found = &row;
  }
  return found;
}

double chance_of(const std::vector<NumberRow>& rows, const NumberRow& row, size_t column) {
  double chance = kMissing;
  for (const auto& name : row.title.chance) {
    const NumberRow* level = find_row(rows, row.data, fmt::format("{}.{}", split_of(row.metric).split, name));
    if (level != nullptr && level->by_column[column]) chance = std::fmax(chance, level->by_column[column]->value);
  }
  return chance;
}

std::string interval_level(const std::vector<RunColumn>& columns) {
  std::set<std::string> levels;
  for (const auto& column : columns) {
    for (const RunRecord* run : column.runs) {
      for (const auto& record : run->evaluations) {
        if (record.intervals.empty() || !record.by_draw.empty()) continue;
        const double level = record.interval_level();
        levels.insert(std::isnan(level) ? "" : fmt::format("{:g} %", 100 * level));
      }
    }
  }
  return levels.size() == 1 ? *levels.begin() : "";
}

std::string sampled_units(const std::vector<RunColumn>& columns) {
  std::string groups;
  size_t grouped = 0;
  for (const auto& column : columns) {
    for (const auto& record : column.shown().evaluations) {
      if (!record.data.empty() || (record.groups_of("test") == 0 && record.groups_of("valid") == 0)) continue;
      if (groups.empty()) groups = fmt::format("groups ({})", record.groups_from);
      ++grouped;
      break;
    }
  }
  return grouped == columns.size() && grouped > 0 ? groups : grouped > 0 ? groups + " where runs have them, else images" : "images";
}

}  // namespace debias
