#include "debias/report/grid_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "debias/sweep/sweep_plan.h"

namespace debias {
namespace {

// The value of a key as a number; NaN where the row does not have it, or as a word.
double grid_number(const TableRow& row, const std::string& key) {
  double value = NAN;
  for (const auto& [name, text] : row.grid) {
    if (name == key && !parse_number(text, &value)) return NAN;
  }
  return value;
}

std::vector<std::string> numeric_keys(const SeedTable& table) {
  constexpr size_t kFewest = 3;
  std::vector<std::string> keys;
  if (table.rows.empty()) return keys;
  for (const auto& entry : table.rows.front().grid) {
    std::set<double> values;
    bool all = true;
    for (const auto& row : table.rows) {
      const double value = grid_number(row, entry.first);
      all = all && std::isfinite(value);
      values.insert(value);
    }
    if (all && values.size() >= kFewest) keys.push_back(entry.first);
  }
  return keys;
}

// What a line is of: the variant, and the other keys of the grid.
std::string line_name(const TableRow& row, const std::string& key) { return SweepPoint{row.variant, row.grid}.label(key); }

Axis grid_axis(const std::string& key, const std::vector<TableRow>& rows) {
  constexpr double kWide = 16;
  double least = INFINITY, largest = 0;
  for (const auto& row : rows) {
    least = std::fmin(least, grid_number(row, key));
    largest = std::fmax(largest, grid_number(row, key));
  }
  Axis axis;
  axis.label = key == "train.batch_size" ? "batch size B (2 B - 2 negatives of an anchor in two views)" : key;
  if (least > 0 && largest / least >= kWide) axis.scale = Scale::kLog;
  return axis;
}

struct GridLine {
  Series ours, published;
};

void add_row(GridLine& line, const TableRow& row, double x) {
  const SeedInterval& interval = row.interval;
  if (interval.n > 0) {
    line.ours.x.push_back(x);
    line.ours.y.push_back(interval.mean);
    const double half = interval.half_width > 0 ? interval.half_width : 0;
    line.ours.low.push_back(interval.mean - half);
    line.ours.high.push_back(interval.mean + half);
  }
  if (row.published) {
    line.published.x.push_back(x);
    line.published.y.push_back(row.published->value);
  }
}

Chart empty_grid_chart(const SeedTable& table, const std::string& title, bool percent) {
  Chart chart;
  chart.title = title;
  chart.y.label = table.metric;
  chart.y.percent = percent;
  return chart;
}

Chart key_chart(const SeedTable& table, const std::string& key, bool percent) {
  std::vector<std::string> names;
  std::map<std::string, GridLine> lines;
  std::vector<const TableRow*> rows;
  for (const auto& row : table.rows) rows.push_back(&row);
  std::ranges::stable_sort(rows, {}, [&](const TableRow* row) { return grid_number(*row, key); });
  for (const auto& row : table.rows) {
    const std::string name = line_name(row, key);
    if (!lines.contains(name)) names.push_back(name);
    lines[name];
  }
  for (const TableRow* row : rows) add_row(lines[line_name(*row, key)], *row, grid_number(*row, key));
  Chart chart = empty_grid_chart(table, fmt::format("{} over {}", table.metric, key), percent);
  chart.x = grid_axis(key, table.rows);
  for (size_t i = 0; i < names.size(); ++i) {
    GridLine& line = lines[names[i]];
    line.ours.name = names[i];
    line.published.name = names[i].empty() ? "published" : names[i] + ", published";
    line.ours.look = line.published.look = static_cast<int>(i);
    line.ours.shape = 0;
    line.published.shape = 1;
    for (Series* series : {&line.ours, &line.published}) {
      if (!series->x.empty()) chart.series.push_back(std::move(*series));
    }
  }
  return chart;
}

Chart minutes_chart(const SeedTable& table, bool percent) {
  Chart chart = empty_grid_chart(table, table.metric + " against minutes of training", percent);
  chart.draw = Draw::kPoints;
  chart.x.label = "minutes";
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const TableRow& row = table.rows[i];
    if (row.interval.n == 0 || !std::isfinite(row.minutes)) continue;
    const double half = row.interval.half_width > 0 ? row.interval.half_width : 0;
    chart.series.push_back({.name = row.label,
                            .x = {row.minutes},
                            .y = {row.interval.mean},
                            .low = {row.interval.mean - half},
                            .high = {row.interval.mean + half},
                            .look = static_cast<int>(i)});
  }
  return chart;
}

}  // namespace

Figures grid_figures(const SeedTable& table) {
  constexpr size_t kFewestPoints = 3, kMostPoints = 12;
  Figures figures;
  std::set<Unit> units;
  for (const auto& row : table.rows) {
    if (!row.values.empty() || row.published) units.insert(row.unit);
  }
  if (units.size() != 1) return figures;  // shares and other numbers have no axis in common
  const bool percent = *units.begin() == Unit::kShare;
  for (const auto& key : numeric_keys(table)) figures.emplace_back(key_chart(table, key, percent), Html{});
  Chart minutes = minutes_chart(table, percent);
  if (minutes.series.size() >= kFewestPoints && minutes.series.size() <= kMostPoints) figures.emplace_back(std::move(minutes), Html{});
  return figures;
}

}  // namespace debias
