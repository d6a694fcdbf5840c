#include "debias/report/tables/table_reading.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "debias/core/error.h"

namespace debias {
namespace {

// True if a file is of the run alone, and of nothing but what it was trained on: not of another data set, the untrained encoder,
// several runs' vectors together or words from a file.
bool is_own(const EvaluationRecord& record, const TableReading& reading) {
  if (!record.is_of_tasks()) return record.data.empty();
  const bool other = record.has_option("untrained", true) || record.options.contains("with") || record.options.contains("expand");
  return !other && record.has_option("mode", "cheap") == reading.cheap;
}

double read_epoch(const RunRecord& run, const TableReading& reading) {
  if (reading.epoch.which == TableEpoch::kNumber) return static_cast<double>(reading.epoch.number);
  return reading.epoch.which == TableEpoch::kSelected ? selected_epoch(run) : static_cast<double>(run.recipe.epochs);
}

// Value of an epoch line; NaN if there is none.
double line_value(const RunRecord& run, const std::string& metric, const TableReading& reading) {
  const auto curve = run.history.by_epoch.find(metric);
  if (curve == run.history.by_epoch.end()) return kNotKnown;
  const double epoch = read_epoch(run, reading);
  for (size_t i = curve->second.x.size(); i-- > 0;) {
    if (curve->second.x[i] == epoch && !std::isnan(curve->second.y[i])) return curve->second.y[i];
  }
  return kNotKnown;
}

// By either protocol.
bool is_own(const EvaluationRecord& record) { return is_own(record, {.cheap = false}) || is_own(record, {.cheap = true}); }

// Epochs at which the run has the metric.
void add_epochs(const RunRecord& run, const std::string& metric, std::set<double>& epochs) {
  if (const auto curve = run.history.by_epoch.find(metric); curve != run.history.by_epoch.end()) {
    for (size_t i = 0; i < curve->second.x.size(); ++i) {
      if (!std::isnan(curve->second.y[i])) epochs.insert(curve->second.x[i]);
    }
  }
  for (const auto& record : run.evaluations) {
    if (is_own(record) && record.epoch >= 0 && record.metric(metric) != nullptr) epochs.insert(static_cast<double>(record.epoch));
  }
}

}  // namespace

double selected_epoch(const RunRecord& run) {
  const auto found = run.history.by_epoch.find(run.recipe.select);
  if (found == run.history.by_epoch.end()) return 0;
  double best = -std::numeric_limits<double>::infinity(), epoch = 0;
  for (size_t i = 0; i < found->second.x.size(); ++i) {
    if (found->second.y[i] > best) {
      best = found->second.y[i];
      epoch = found->second.x[i];
    }
  }
  return epoch;
}

std::vector<const RunRecord*> runs_of_rows(const ComparedRuns& compared) {
  std::vector<const RunRecord*> runs;
  for (const auto& row : compared.rows) {
    for (const size_t run : row.runs) runs.push_back(&compared.runs[run]);
  }
  return runs;
}

EpochChoice chosen_epoch(const ComparedRuns& compared, const EpochChoice& asked) {
  if (asked.which == TableEpoch::kLast || asked.which == TableEpoch::kNumber) return asked;
  const auto runs = runs_of_rows(compared);
  // Older programs took a metric of which less is better, and kept its worst epoch.
  const auto has_select = [&](const RunRecord* run) {
    return run->recipe.select.starts_with("valid.") && !compared.titles->lower_is_better(run->recipe.select);
  };
  if (asked.which == TableEpoch::kAuto) {
    return {!runs.empty() && std::ranges::all_of(runs, has_select) ? TableEpoch::kSelected : TableEpoch::kLast};
  }
  const auto without = std::ranges::find_if_not(runs, has_select);
  if (without == runs.end()) return {TableEpoch::kSelected};
  throw usage_error(
      "table: run '{}' has no `evaluate.select` on valid of which more is better, so that no epoch is chosen; leave --epoch out, or train "
      "with such a select",
      (*without)->path);
}

std::string epoch_words(const ComparedRuns& compared, const TableReading& reading) {
  if (reading.epoch.which == TableEpoch::kNumber) return fmt::format("epoch {}", reading.epoch.number);
  if (reading.epoch.which == TableEpoch::kLast) return "last epoch";
  std::set<std::string> selects;
  for (const RunRecord* run : runs_of_rows(compared)) selects.insert(run->recipe.select);
  std::string words = "epoch chosen by ";
  for (const auto& select : selects) words += (select == *selects.begin() ? "" : ", ") + select;
  return words;
}

const EvaluationRecord* record_at(const RunRecord& run, const std::string& metric, const TableReading& reading) {
  const double epoch = read_epoch(run, reading);
  const auto found = std::ranges::find_if(run.evaluations, [&](const EvaluationRecord& record) {
    return is_own(record, reading) && static_cast<double>(record.epoch) == epoch && record.metric(metric) != nullptr;
  });
  return found == run.evaluations.end() ? nullptr : &*found;
}

double value_at(const RunRecord& run, const std::string& metric, const TableReading& reading) {
  if (const double value = line_value(run, metric, reading); !std::isnan(value)) return value;
  const EvaluationRecord* record = record_at(run, metric, reading);
  return record == nullptr ? kNotKnown : *record->metric(metric);
}

std::vector<std::string> measured_metrics(const ComparedRuns& compared) {
  std::set<std::string> names;
  for (const RunRecord* run : runs_of_rows(compared)) {
    for (const auto& [name, curve] : run->history.by_epoch) names.insert(name);
    for (const auto& record : run->evaluations) {
      if (!is_own(record)) continue;
      for (const auto& metric : record.metrics) names.insert(metric.first);
    }
  }
  return {names.begin(), names.end()};
}

std::string epochs_with(const ComparedRuns& compared, const std::vector<std::string>& metrics) {
  std::set<double> epochs;
  for (const RunRecord* run : runs_of_rows(compared)) {
    for (const auto& metric : metrics) add_epochs(*run, metric, epochs);
  }
  constexpr size_t kShown = 10;
  if (epochs.size() <= kShown) return fmt::format("{}", fmt::join(epochs, ", "));
  return fmt::format("{} of them, {} to {}", epochs.size(), *epochs.begin(), *epochs.rbegin());
}

}  // namespace debias
