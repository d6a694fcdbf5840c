#include "debias/report/sections/evaluation_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>
#include <tuple>

#include "debias/report/metric_title.h"
#include "debias/report/run_column.h"

namespace debias {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr std::array<const char*, 6> kPairKinds = {
    "positive_aligned", "positive_conflicting", "negative_aligned", "negative_conflicting", "positive", "negative"};
constexpr size_t kMostNamed = 24;  // values of a map with names of their own in the legend

std::string split_prefix(const EvaluatedSet& set) { return set.split + "."; }

template <class T>
const T* entry_of(const std::map<std::string, T>& entries, const std::string& key) {
  const auto found = entries.find(key);
  return found == entries.end() ? nullptr : &found->second;
}

bool holds(const EvaluationRecord& record, const std::string& split) {
  return record.groups.contains(split) || record.similarity.contains(split) || record.maps.contains(split) ||
         record.neighbours.contains(split);
}

// Bars of those metrics of which some column has a number, by one source's predictions.
Figures interval_figure(const std::vector<RunColumn>& columns, const std::vector<NumberRow>& rows, const EvaluatedSet& set,
                        const std::string& source, const std::string& title, const std::vector<std::string_view>& metrics) {
  Chart chart;
  chart.title = fmt::format("{}, {}{}", title, set.title(), source.empty() ? "" : ", " + source_title(source));
  chart.draw = Draw::kBars;
  chart.x.percent = true;
  for (size_t i = 0; i < columns.size(); ++i) {
    chart.series.push_back(
        {.name = columns.size() > 1 ? columns[i].title() : "", .x = {}, .y = {}, .low = {}, .high = {}, .look = static_cast<int>(i)});
  }
  for (const auto metric : metrics) {
    const NumberRow* row = find_row(rows, set.data, split_prefix(set) + std::string(metric), source);
    const auto has_value = [](const auto& number) { return number && !std::isnan(number->value); };
    if (row == nullptr || std::ranges::none_of(row->by_column, has_value)) continue;
    chart.categories.push_back(columns.front().titles().of(std::string(metric)).title);
    for (size_t i = 0; i < columns.size(); ++i) {
      const KeyNumber number = row->by_column[i].value_or(KeyNumber{.value = kNoNumber});
      const bool known = number.kind != IntervalKind::kNone;
      chart.series[i].y.push_back(number.value);
      chart.series[i].low.push_back(known ? std::clamp(number.interval.first, 0.0, 1.0) : kNoNumber);
      chart.series[i].high.push_back(known ? std::clamp(number.interval.second, 0.0, 1.0) : kNoNumber);
    }
  }
  if (chart.categories.empty()) return {};
  return {{std::move(chart), Html{}}};
}

std::string pair_kind(const std::string& name) {
  std::string text = name;
  std::ranges::replace(text, '_', ' ');
  return text;
}

// The part of [-1, 1] in which the histograms of all runs have something.
std::pair<double, double> shared_range(const std::vector<RunRecord>& runs, const EvaluatedSet& set) {
  double low = 1, high = -1;
  for (const auto& run : runs) {
    const EvaluationRecord* record = run.evaluation("geometry", set.data);
    const auto* sets = record == nullptr ? nullptr : entry_of(record->similarity, set.split);
    if (sets == nullptr) continue;
    for (const auto& [name, distribution] : *sets) {
      const auto bins = static_cast<double>(distribution.histogram.size());
      for (size_t i = 0; i < distribution.histogram.size(); ++i) {
        if (distribution.histogram[i] == 0) continue;
        low = std::min(low, -1 + 2 * static_cast<double>(i) / bins);
        high = std::max(high, -1 + 2 * static_cast<double>(i + 1) / bins);
      }
    }
  }
  return low < high ? std::pair(low, high) : std::pair(-1.0, 1.0);
}

Series density(const std::string& name, const SimilarityHistogram& distribution, double low, double high) {
  Series series{.name = name, .x = {}, .y = {}, .low = {}, .high = {}};
  const auto bins = static_cast<double>(distribution.histogram.size());
  const double width = 2 / bins, slack = width / 1e6;
  for (size_t i = 0; i < distribution.histogram.size(); ++i) {
    const double edge = -1 + width * static_cast<double>(i);
    if (edge < low - slack || edge + width > high + slack) continue;
    if (series.x.empty()) series.x.push_back(edge);
    series.x.push_back(edge + width);
    series.y.push_back(static_cast<double>(distribution.histogram[i]) / (static_cast<double>(distribution.pairs) * width));
  }
  return series;
}

Series quantiles_over_epochs(const std::vector<SimilarityEpoch>& history, const std::string& split, const char* pairs) {
  Series series{.name = pair_kind(pairs), .x = {}, .y = {}, .low = {}, .high = {}};
  for (const auto& at : history) {
    const auto* sets = entry_of(at.similarity, split);
    const SimilarityHistogram* found = sets == nullptr ? nullptr : entry_of(*sets, std::string(pairs));
    if (found == nullptr || found->pairs == 0) continue;
    series.x.push_back(static_cast<double>(at.epoch));
    series.y.push_back(cosine_quantile(*found, 0.5));
    series.low.push_back(cosine_quantile(*found, 0.1));
    series.high.push_back(cosine_quantile(*found, 0.9));
  }
  return series;
}

// A chart of the points whose place in the map is one of `shown`, a series for each value.
template <class Name>
Chart map_chart(const FeatureMap& map, const std::vector<size_t>& shown, const std::vector<int64_t>& values, const std::string& title,
                Name&& name) {
  Chart chart;
  chart.title = title;
  chart.draw = Draw::kScatter;
  chart.square = chart.x.bare = chart.y.bare = true;
  std::map<int64_t, Series> by_value;
  for (const size_t i : shown) {
    Series& series = by_value[values[i]];
    series.x.push_back(map.points[i].first);
    series.y.push_back(map.points[i].second);
  }
  const bool named = by_value.size() <= kMostNamed;
  for (auto& [value, series] : by_value) {
    if (named) series.name = name(value);
    chart.series.push_back(std::move(series));
  }
  if (!named) {
    chart.description = fmt::format("{} points of {} values", shown.size(), chart.series.size());
    chart.title += fmt::format(" ({} values, not named)", chart.series.size());
  }
  return chart;
}

std::string named(const std::vector<std::string>& names, int64_t value, const char* kind) {
  if (value < 0) return "unknown";
  const bool has_name = value < static_cast<int64_t>(names.size());
  const std::string own = has_name ? names[static_cast<size_t>(value)] : fmt::format("{}", value);
  const bool number = own.find_first_not_of("0123456789") == std::string::npos;
  return number ? fmt::format("{} {}", kind, own) : own;
}

}  // namespace

std::vector<EvaluatedSet> evaluated_sets(const std::vector<RunRecord>& runs, const std::string& protocol) {
  std::set<std::tuple<std::string, bool, std::string>> found;
  for (const auto& run : runs) {
    for (const auto& record : run.evaluations) {
      if (record.protocol != protocol) continue;
      for (const auto* split : {"test", "valid"}) {
        if (holds(record, split)) found.emplace(record.data, std::string_view(split) != "test", split);
      }
    }
  }
  std::vector<EvaluatedSet> sets;
  for (const auto& [data, later, split] : found) sets.push_back({data, split, runs.front().shown_split(split)});
  return sets;
}

ValueNames::ValueNames(const RunRecord& run, const EvaluatedSet& set) : labels_(run.classes), biases_(run.biases) {
  const EvaluationRecord* record = run.evaluation("groups", set.data);
  if (record == nullptr || record->groups.empty()) return;
  const GroupTable* table = entry_of(record->groups, set.split);
  if (table == nullptr) table = &record->groups.begin()->second;
  labels_ = table->labels;
  biases_ = table->biases;
}

std::string ValueNames::label(int64_t label) const { return named(labels_, label, "class"); }
std::string ValueNames::bias(int64_t bias) const { return named(biases_, bias, "bias"); }

Figures group_figures(const std::vector<RunColumn>& columns, const std::vector<NumberRow>& rows, const EvaluatedSet& set) {
  Figures figures;
  const auto add = [&](const std::string& source, const std::string& title, const std::vector<std::string_view>& metrics) {
    for (auto& figure : interval_figure(columns, rows, set, source, title, metrics)) figures.push_back(std::move(figure));
  };
  for (const std::string& source : sources_in_order()) {
    if (find_row(rows, set.data, split_prefix(set) + "worst_group_acc", source) == nullptr) continue;
    add(source, "Accuracy by group", {"acc1", "aligned_acc", "conflicting_acc", "worst_group_acc", "unbiased_acc"});
    add(source, "Differences between bias labels",
        {"demographic_parity_difference", "equal_opportunity_difference", "equalized_odds_difference"});
  }
  return figures;
}

Figures similarity_figures(const std::vector<RunRecord>& runs, const EvaluatedSet& set) {
  const auto [low, high] = shared_range(runs, set);
  double highest = 0;
  Figures figures;
  for (const auto& run : runs) {
    const EvaluationRecord* record = run.evaluation("geometry", set.data);
    const auto* sets = record == nullptr ? nullptr : entry_of(record->similarity, set.split);
    if (sets == nullptr) continue;
    Chart chart;
    chart.title = runs.size() > 1 ? fmt::format("{}, {}", run.label, set.title()) : fmt::format("Cosines of pairs, {}", set.title());
    chart.draw = Draw::kSteps;
    chart.x.label = "cosine";
    chart.x.low = low;
    chart.x.high = high;
    chart.y.label = "density";
    for (const char* name : kPairKinds) {
      const auto found = sets->find(name);
      if (found == sets->end() || found->second.pairs == 0) continue;
      chart.series.push_back(density(pair_kind(name), found->second, low, high));
      for (const double y : chart.series.back().y) highest = std::max(highest, y);
    }
    figures.emplace_back(std::move(chart), Html{});
  }
  for (auto& figure : figures) figure.first.y.high = highest;
  return figures;
}

Figures similarity_history_figures(const std::vector<RunRecord>& runs, const EvaluatedSet& set) {
  Figures figures;
  for (const auto& run : runs) {
    if (!set.data.empty()) continue;  // another data set is not evaluated during training
    for (const std::string sign : {"positive", "negative"}) {
      Chart chart;
      chart.title = fmt::format("{}Cosines of {} pairs over the epochs, {}", runs.size() > 1 ? run.label + ", " : "", sign, set.title());
      chart.x.label = "epoch";
      chart.x.whole = true;
      chart.y.label = "cosine: median, 10th to 90th percentile";
      for (const char* name : kPairKinds) {
        if (!std::string_view(name).starts_with(sign)) continue;
        Series series = quantiles_over_epochs(run.similarities, set.split, name);
        if (series.x.size() > 1) chart.series.push_back(std::move(series));
      }
      if (!chart.series.empty()) figures.emplace_back(std::move(chart), Html{});
    }
  }
  return figures;
}

Table similarity_table(const std::vector<RunRecord>& runs, const EvaluatedSet& set) {
  Table table{fmt::format("Cosines of pairs, {}: mean ± standard deviation", set.title()), "numbers", {}, {}};
  table.add_heads({"pairs"});
  std::vector<const std::map<std::string, SimilarityHistogram>*> by_run;
  for (const auto& run : runs) {
    const EvaluationRecord* record = run.evaluation("geometry", set.data);
    by_run.push_back(record == nullptr ? nullptr : entry_of(record->similarity, set.split));
    table.add_heads({run.label}, true);
  }
  for (const char* name : kPairKinds) {
    Row row{{{plain(pair_kind(name)), "", ""}}, false};
    bool any = false;
    for (const auto* sets : by_run) {
      const SimilarityHistogram* found = sets == nullptr ? nullptr : entry_of(*sets, name);
      Cell cell{plain("–"), "n", ""};
      if (found != nullptr && found->pairs > 0) {
        any = true;
        cell.content = plain(fmt::format("{:.3f} ± {:.3f}", found->mean, found->std)) +
                       element("span", "small", plain(fmt::format(" {} pairs", found->pairs)));
      }
      row.cells.push_back(std::move(cell));
    }
    if (any) table.rows.push_back(std::move(row));
  }
  return table;
}

Figures map_figures(const RunRecord& run, const EvaluatedSet& set, size_t most_points, bool with_label) {
  const EvaluationRecord* record = run.evaluation("tsne", set.data);
  const FeatureMap* map = record == nullptr ? nullptr : entry_of(record->maps, set.split);
  if (map == nullptr || map->points.empty()) return {};
  std::vector<size_t> shown;
  const size_t count = std::min(most_points, map->points.size());
  for (size_t i = 0; i < count; ++i) shown.push_back(i * map->points.size() / count);
  std::string caption =
      fmt::format("{} images, perplexity {}, divergence {}", map->points.size(), short_number(map->perplexity), short_number(map->kl));
  if (count < map->points.size()) caption += fmt::format("; {} of them are drawn, evenly picked", count);
  const ValueNames names(run, set);
  const std::string where = with_label ? fmt::format("{}, {}", run.label, set.title()) : set.title();
  Figures figures;
  figures.emplace_back(map_chart(*map, shown, map->labels, where + ", by label", [&](int64_t value) { return names.label(value); }),
                       plain(caption));
  if (!map->biases.empty()) {
    figures.emplace_back(map_chart(*map, shown, map->biases, where + ", by bias label", [&](int64_t value) { return names.bias(value); }),
                         plain(caption));
  }
  return figures;
}

}  // namespace debias
