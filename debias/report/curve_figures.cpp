#include "debias/report/curve_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
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

bool counts_anchors(const std::string& metric) {
  for (const std::string_view name : {"anchors", "clamped"}) {
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

const Curve* curve_in(const std::map<std::string, Curve>& curves, const std::string& metric) {
  const auto found = curves.find(metric);
  return found == curves.end() ? nullptr : &found->second;
}

bool can_be_drawn(const Curve* curve) {
  return curve != nullptr && std::ranges::count_if(curve->y, [](double y) { return std::isfinite(y); }) > 1;
}

size_t longest(const std::vector<RunRecord>& runs, const std::string& metric, bool by_step) {
  size_t most = 0;
  for (const auto& run : runs) {
    const Curve* curve = curve_in(by_step ? run.history.by_step : run.history.by_epoch, metric);
    if (can_be_drawn(curve)) most = std::max(most, curve->x.size());
  }
  return most;
}

// How many lines a chart of these metrics would have.
size_t lines_of(const std::vector<RunRecord>& runs, const std::vector<std::string>& metrics) {
  size_t lines = 0;
  for (const auto& run : runs) {
    for (const auto& metric : metrics) lines += run.history.by_epoch.contains(metric) || run.history.by_step.contains(metric);
  }
  return lines;
}

std::vector<std::string> all_names(const std::vector<RunRecord>& runs) {
  std::vector<std::string> names;
  for (const auto& run : runs) {
    for (const auto& name : run.history.names) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

// Lines of a metric by run; `term` names them apart where a run has several.
void add_series(Chart& chart, const std::vector<RunRecord>& runs, const std::string& metric, bool by_step, const std::string& term) {
  for (size_t i = 0; i < runs.size(); ++i) {
    const Curve* curve = curve_in(by_step ? runs[i].history.by_step : runs[i].history.by_epoch, metric);
    if (!can_be_drawn(curve)) continue;
    std::string name = runs.size() > 1 ? runs[i].label : "";
    if (!term.empty()) name += (name.empty() ? "" : ": ") + term;
    chart.series.push_back({.name = name, .x = curve->x, .y = curve->y, .low = {}, .high = {}, .look = static_cast<int>(i)});
  }
}

// Where a run has several lines, each line has a look of its own; the lines of a run follow each other.
void tell_lines_apart(Chart& chart) {
  std::set<int> looks;
  for (const auto& series : chart.series) looks.insert(series.look);
  if (looks.size() == chart.series.size()) return;
  std::ranges::stable_sort(chart.series, {}, [](const Series& series) { return series.look; });
  for (auto& series : chart.series) series.look = -1;
}

Chart empty_chart(const std::string& title, const std::string& metric, bool by_step) {
  Chart chart;
  chart.title = title;
  chart.x.label = by_step ? "step" : "epoch";
  chart.x.whole = true;
  chart.y.percent = shown_in_percent(metric);
  return chart;
}

bool differ_in_objective(const std::vector<RunRecord>& runs) {
  const auto text = [](const RunRecord& run) {
    const Config* objective = run.config.find("objective");
    return objective == nullptr ? std::string() : objective->to_json().dump();
  };
  return std::ranges::any_of(runs, [&](const RunRecord& run) { return text(run) != text(runs[0]); });
}

}  // namespace

Figures learning_figures(const std::vector<RunRecord>& runs) {
  std::vector<std::string> metrics;
  for (const auto& name : all_names(runs)) {
    if (is_learning(name)) metrics.push_back(name);
  }
  const auto order = [](const std::string& metric) {
    const SplitName name = split_of(metric);
    const int group = metric == "train_loss" || metric == "loss" ? 0 : name.split == "test" ? 1 : name.split.empty() ? 3 : 2;
    return std::tuple(group, name.split, metric_title(name.name).place);
  };
  std::ranges::stable_sort(metrics, [&](const auto& a, const auto& b) { return order(a) < order(b); });
  Figures figures;
  const bool has_epochs = longest(runs, "train_loss", false) > 1;
  for (const auto& metric : metrics) {
    if (metric == "loss" && has_epochs) continue;
    const bool by_step = longest(runs, metric, false) < 2;
    if (longest(runs, metric, by_step) < 2) continue;
    const SplitName name = split_of(metric);
    const std::string title = metric == "loss" ? "training loss" : metric_title(name.name).title;
    Chart chart = empty_chart(name.split.empty() ? title : fmt::format("{}, {}", title, name.split), metric, by_step);
    add_series(chart, runs, metric, by_step, "");
    const bool loss = metric == "loss" || metric == "train_loss";
    figures.emplace_back(std::move(chart), loss && runs.size() > 1 && differ_in_objective(runs)
                                               ? plain("The runs have different objectives: the losses cannot be compared.")
                                               : Html{});
  }
  return figures;
}

Figures evidence_figures(const std::vector<RunRecord>& runs) {
  std::map<std::string, std::vector<std::string>> of_all_terms;  // by what is said
  for (const auto& name : all_names(runs)) {
    if (!is_learning(name) && !counts_anchors(name)) of_all_terms[term_of(name).second].push_back(name);
  }
  std::vector<std::string> charts;  // what is said; with its term where one chart would be too full
  std::map<std::string, std::vector<std::string>> metrics;
  for (const auto& name : all_names(runs)) {
    if (is_learning(name) || counts_anchors(name)) continue;
    const std::string what = term_of(name).second;
    const std::string chart = lines_of(runs, of_all_terms[what]) > kMostLines ? name : what;
    if (!metrics.contains(chart)) charts.push_back(chart);
    metrics[chart].push_back(name);
  }
  std::ranges::stable_sort(
      charts, [](const auto& a, const auto& b) { return metric_title(term_of(a).second).place < metric_title(term_of(b).second).place; });
  Figures figures;
  for (const auto& name : charts) {
    size_t epochs = 0, steps = 0;
    for (const auto& metric : metrics[name]) {
      epochs = std::max(epochs, longest(runs, metric, false));
      steps = std::max(steps, longest(runs, metric, true));
    }
    const bool by_step = epochs < kFewEpochs && steps > epochs;
    if (std::max(epochs, steps) < 2) continue;
    const auto [term, what] = term_of(name);
    const std::string title = metric_title(what).title;
    Chart chart = empty_chart(term.empty() ? title : fmt::format("{}: {}", term, title), what, by_step);
    if (what == "clamped_share") chart.y.low = 0;
    for (const auto& metric : metrics[name]) add_series(chart, runs, metric, by_step, term.empty() ? term_of(metric).first : "");
    tell_lines_apart(chart);
    figures.emplace_back(std::move(chart), Html{});
  }
  return figures;
}

}  // namespace debias
