#include "debias/report/charts/curve_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>

#include "debias/report/metric_title.h"

namespace debias {
namespace {

constexpr size_t kFewEpochs = 10, kMostLines = 6;

bool is_learning(const std::string& metric) {
  constexpr std::array<std::string_view, 6> kOfTraining = {"train_loss", "loss", "grad_norm", "learning_rate", "acc1", "classifier_loss"};
  return std::ranges::find(kOfTraining, metric) != kOfTraining.end() || !split_of(metric).split.empty();
}

bool is_count(const std::string& metric) {
  for (const std::string_view name : {"anchors", "clamped", "control_steps", "episode"}) {
    if (metric == name || metric.ends_with("." + std::string(name))) return true;
  }
  return false;
}

// "fairkl" and "clamped_share" of "fairkl.clamped_share"; a name without a dot is of the only term.
std::pair<std::string, std::string> term_of(const std::string& metric) {
  const size_t dot = metric.rfind('.');
  if (dot == std::string::npos) return {"", metric};
  return {metric.substr(0, dot), metric.substr(dot + 1)};
}

const Curve* curve_in(const RunRecord& run, const std::string& metric, bool by_step) {
  const auto& curves = by_step ? run.history.by_step : run.history.by_epoch;
  const auto found = curves.find(metric);
  return found == curves.end() ? nullptr : &found->second;
}

size_t longest(const std::vector<RunColumn>& columns, const std::string& metric, bool by_step) {
  size_t most = 0;
  for (const auto& column : columns) {
    const ColumnCurve curve = column_curve(column, metric, by_step);
    if (curve.can_be_drawn()) most = std::max(most, curve.x.size());
  }
  return most;
}

// Number of lines of a chart of these metrics.
size_t lines_of(const std::vector<RunColumn>& columns, const std::vector<std::string>& metrics) {
  size_t lines = 0;
  for (const auto& column : columns) {
    for (const auto& metric : metrics) {
      lines += std::ranges::any_of(column.runs, [&](const RunRecord* run) {
        return curve_in(*run, metric, false) != nullptr || curve_in(*run, metric, true) != nullptr;
      });
    }
  }
  return lines;
}

std::vector<std::string> all_names(const std::vector<RunColumn>& columns) {
  std::vector<std::string> names;
  for (const auto& column : columns) {
    for (const RunRecord* run : column.runs) {
      for (const auto& name : run->history.names) {
        if (std::ranges::find(names, name) == names.end()) names.push_back(name);
      }
    }
  }
  return names;
}

// Lines of a metric by column; `term` and `shape` distinguish several lines of a column.
void add_series(Chart& chart, const std::vector<RunColumn>& columns, const std::string& metric, bool by_step, const std::string& term = "",
                int shape = -1) {
  for (size_t i = 0; i < columns.size(); ++i) {
    ColumnCurve curve = column_curve(columns[i], metric, by_step);
    if (!curve.can_be_drawn()) continue;
    std::string name = columns.size() > 1 ? columns[i].title() : "";
    if (!term.empty()) name += (name.empty() ? "" : ": ") + term;
    chart.series.push_back({.name = name,
                            .x = std::move(curve.x),
                            .y = std::move(curve.y),
                            .low = std::move(curve.low),
                            .high = std::move(curve.high),
                            .look = static_cast<int>(i),
                            .shape = shape});
  }
}

Chart empty_chart(const std::string& title, Unit unit, bool by_step) {
  Chart chart;
  chart.title = title;
  chart.x.label = by_step ? "step" : "epoch";
  chart.x.whole = true;
  chart.y.percent = unit == Unit::kShare;
  return chart;
}

// Of an epoch of agents, in control steps, where all columns have the same; 0 where they train on something else.
double steps_of_epoch(const std::vector<RunColumn>& columns) {
  const auto steps = [](const RunColumn& column) { return column.shown().recipe.control_steps; };
  const double first = steps(columns.front());
  return std::ranges::all_of(columns, [&](const RunColumn& column) { return steps(column) == first; }) ? first : 0;
}

void count_control_steps(Chart& chart, double steps) {
  if (steps == 0 || chart.x.label != "epoch") return;
  chart.x.label = "control steps";
  for (auto& series : chart.series) {
    for (double& x : series.x) x *= steps;
  }
}

bool differ_in_objective(const std::vector<RunColumn>& columns) {
  const auto objective = [](const RunColumn& column) -> const Json& { return column.shown().recipe.objective; };
  return std::ranges::any_of(columns, [&](const RunColumn& column) { return objective(column) != objective(columns[0]); });
}

}  // namespace

bool ColumnCurve::can_be_drawn() const {
  return std::ranges::count_if(y, [](double value) { return std::isfinite(value); }) > 1;
}

ColumnCurve column_curve(const RunColumn& column, const std::string& metric, bool by_step) {
  std::map<double, std::vector<double>> values;
  size_t having = 0;
  for (const RunRecord* run : column.runs) {
    const Curve* curve = curve_in(*run, metric, by_step);
    if (curve == nullptr) continue;
    if (!column.has_seeds()) return {curve->x, curve->y, {}, {}};
    ++having;
    for (size_t i = 0; i < curve->x.size(); ++i) values[curve->x[i]].push_back(curve->y[i]);
  }
  ColumnCurve mean;
  for (const auto& [x, of_runs] : values) {
    if (of_runs.size() != having) continue;
    const auto [least, largest] = std::ranges::minmax(of_runs);
    mean.x.push_back(x);
    mean.y.push_back(std::accumulate(of_runs.begin(), of_runs.end(), 0.0) / static_cast<double>(having));
    mean.low.push_back(least);
    mean.high.push_back(largest);
  }
  return mean;
}

Figures learning_figures(const std::vector<RunColumn>& columns) {
  std::vector<std::string> metrics;
  for (const auto& name : all_names(columns)) {
    if (is_learning(name)) metrics.push_back(name);
  }
  const MetricTitles& titles = columns.front().titles();
  const auto order = [&](const std::string& metric) {
    const SplitName name = split_of(metric);
    const int group = metric == "train_loss" || metric == "loss" ? 0 : name.split == "test" ? 1 : name.split.empty() ? 3 : 2;
    return std::tuple(group, name.split, titles.of(metric).place);
  };
  std::ranges::stable_sort(metrics, [&](const auto& a, const auto& b) { return order(a) < order(b); });
  Figures figures;
  const bool has_epochs = longest(columns, "train_loss", false) > 1;
  for (const auto& metric : metrics) {
    if (metric == "loss" && has_epochs) continue;
    const bool by_step = longest(columns, metric, false) < 2;
    if (longest(columns, metric, by_step) < 2) continue;
    const SplitName name = split_of(metric);
    const std::string title = metric == "loss" ? "training loss" : titles.of(metric).title;
    Chart chart = empty_chart(name.split.empty() ? title : fmt::format("{}, {}", title, name.split), titles.unit(metric), by_step);
    add_series(chart, columns, metric, by_step);
    count_control_steps(chart, steps_of_epoch(columns));
    const bool loss = metric == "loss" || metric == "train_loss";
    figures.emplace_back(std::move(chart), loss && columns.size() > 1 && differ_in_objective(columns)
                                               ? plain("The runs have different objectives: the losses cannot be compared.")
                                               : Html{});
  }
  return figures;
}

Figures diagnostics_figures(const std::vector<RunColumn>& columns) {
  std::map<std::string, std::vector<std::string>> of_all_terms;  // by what is said
  for (const auto& name : all_names(columns)) {
    if (!is_learning(name) && !is_count(name)) of_all_terms[term_of(name).second].push_back(name);
  }
  std::vector<std::string> charts;  // what is said; with its term where one chart would be too full
  std::map<std::string, std::vector<std::string>> metrics;
  for (const auto& name : all_names(columns)) {
    if (is_learning(name) || is_count(name)) continue;
    const std::string what = term_of(name).second;
    const std::string chart = lines_of(columns, of_all_terms[what]) > kMostLines ? name : what;
    if (!metrics.contains(chart)) charts.push_back(chart);
    metrics[chart].push_back(name);
  }
  const MetricTitles& titles = columns.front().titles();
  std::ranges::stable_sort(charts, {}, [&](const std::string& name) { return titles.of(term_of(name).second).place; });
  Figures figures;
  for (const auto& name : charts) {
    size_t epochs = 0, steps = 0;
    for (const auto& metric : metrics[name]) {
      epochs = std::max(epochs, longest(columns, metric, false));
      steps = std::max(steps, longest(columns, metric, true));
    }
    const bool by_step = epochs < kFewEpochs && steps > epochs;
    if (std::max(epochs, steps) < 2) continue;
    const auto [term, what] = term_of(name);
    const std::string title = titles.of(what).title;
    Chart chart = empty_chart(term.empty() ? title : fmt::format("{}: {}", term, title), titles.unit(what), by_step);
    if (what == "clamped_share") chart.y.low = 0;
    const bool several = metrics[name].size() > 1;
    for (size_t i = 0; i < metrics[name].size(); ++i) {
      add_series(chart, columns, metrics[name][i], by_step, term.empty() ? term_of(metrics[name][i]).first : "",
                 several ? static_cast<int>(i) : -1);
    }
    std::ranges::stable_sort(chart.series, {}, &Series::look);
    figures.emplace_back(std::move(chart), Html{});
  }
  return figures;
}

}  // namespace debias
