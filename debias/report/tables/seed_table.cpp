#include "debias/report/tables/seed_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/report/compared_runs.h"
#include "debias/report/metric_title.h"
#include "debias/report/tables/table_differences.h"
#include "debias/report/tables/table_likeness.h"

namespace debias {
namespace {

std::vector<std::string> metrics_of_table(const ComparedRuns& compared, const SeedTableOptions& options) {
  if (!options.metrics.empty()) return options.metrics;
  if (auto named = metric_names(compared.metric); !named.empty()) return named;
  for (const auto& row : compared.rows) {
    for (const auto& item : expectations(compared, row)) return {item.metric};
  }
  throw usage_error("table: no metric is known; give --metric, such as test.knn_acc1");
}

double mean_minutes(const ComparedRuns& compared, const ComparedRow& row) {
  std::vector<double> minutes;
  for (const size_t number : row.runs) minutes.push_back(compared.runs[number].speed.seconds / 60);
  return seed_interval(minutes).mean;
}

// Facts of a row beside its values: task, length and course of the training, and all that is published of the metric.
void add_course(TableRow& found, const ComparedRuns& compared, const ComparedRow& row, const std::string& metric) {
  found.all_published = published_numbers(expectations(compared, row), metric);
  if (row.runs.empty()) return;
  RunColumn column{row.label, {}};
  for (const size_t number : row.runs) column.runs.push_back(&compared.runs[number]);
  found.task = column.shown().recipe.task;
  found.epochs = column.shown().recipe.epochs;
  found.curve = column_curve(column, metric, false);
}

// With the values of the first metric that a run of the row has.
TableRow table_row(const ComparedRuns& compared, const ComparedRow& row, const std::vector<std::string>& metrics,
                   const TableReading& reading) {
  TableRow found;
  found.label = row.label;
  found.variant = row.variant;
  found.grid = row.grid;
  found.places = row.places;
  found.minutes = mean_minutes(compared, row);
  for (const auto& metric : metrics) {
    for (const size_t number : row.runs) {
      const RunRecord& run = compared.runs[number];
      const double value = value_at(run, metric, reading);
      if (std::isnan(value)) continue;
      found.metric = metric;
      found.seeds.push_back(run.seed());
      found.values.push_back(value);
    }
    if (!found.values.empty()) break;
  }
  found.interval = seed_interval(found.values);
  const auto& metric = found.metric.empty() ? metrics.front() : found.metric;
  found.unit = compared.titles->unit(metric);
  found.lower_is_better = compared.titles->lower_is_better(metric);
  add_course(found, compared, row, metric);
  const int64_t read = reading.epoch.which == TableEpoch::kNumber ? reading.epoch.number : found.epochs;
  found.published = published_at(found.all_published, read);
  return found;
}

void require_texts_alike(const ComparedRuns& compared, const std::vector<TableRow>& rows, const TableReading& reading) {
  std::map<std::string, std::vector<TaskEvaluation>> evaluated;  // by task
  for (size_t i = 0; i < rows.size(); ++i) {
    for (const size_t number : compared.rows[i].runs) {
      const RunRecord& run = compared.runs[number];
      const EvaluationRecord* record = record_at(run, rows[i].metric, reading);
      if (record == nullptr) continue;
      for (const auto& task : record->tasks) {
        if (task.has(rows[i].metric)) evaluated[task.name].push_back({&run, record});
      }
    }
  }
  for (const auto& [task, evaluations] : evaluated) require_same_texts("table", task, evaluations);
}

std::vector<ShownNumber> shown_numbers(const ComparedRuns& compared, const std::vector<TableRow>& rows, const TableReading& reading) {
  std::vector<ShownNumber> numbers;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (const size_t run : compared.rows[i].runs) {
      if (!std::isnan(value_at(compared.runs[run], rows[i].metric, reading))) numbers.push_back({&compared.runs[run], rows[i].metric});
    }
  }
  return numbers;
}

std::vector<TableRow> table_rows(const ComparedRuns& compared, const std::vector<std::string>& metrics, const TableReading& reading) {
  std::vector<TableRow> rows;
  for (const auto& row : compared.rows) rows.push_back(table_row(compared, row, metrics, reading));
  require_same_data(shown_numbers(compared, rows, reading), reading);
  for (size_t i = 0; i < rows.size(); ++i) require_row_alike(compared, compared.rows[i], rows[i].metric, reading);
  require_texts_alike(compared, rows, reading);
  return rows;
}

bool has_values(const std::vector<TableRow>& rows) {
  return std::ranges::any_of(rows, [](const TableRow& row) { return !row.values.empty(); });
}

bool has_evaluation(const RunRecord& run, const std::vector<std::string>& metrics, const TableReading& reading) {
  return std::ranges::any_of(metrics, [&](const auto& metric) {
    const EvaluationRecord* record = record_at(run, metric, reading);
    return record != nullptr && record->is_of_tasks();
  });
}

// The whole protocol's numbers, or those of --cheap where more runs have these alone. A note reports the omission.
std::vector<TableRow> rows_evaluated_alike(const ComparedRuns& compared, const std::vector<std::string>& metrics, const TableReading& whole,
                                           std::vector<std::string>& notes) {
  const TableReading cheap = {whole.epoch, true};
  int64_t of_whole = 0, of_cheap = 0, of_both = 0;
  const auto runs = runs_of_rows(compared);
  for (const RunRecord* run : runs) {
    const bool has_whole = has_evaluation(*run, metrics, whole), has_cheap = has_evaluation(*run, metrics, cheap);
    of_whole += has_whole && !has_cheap;
    of_cheap += has_cheap && !has_whole;
    of_both += has_cheap && has_whole;
  }
  const bool takes_cheap = of_cheap > of_whole;
  if (takes_cheap) {
    notes.push_back(fmt::format("evaluated with --cheap: C was chosen on one tenth of a training part, not by ten folds{}",
                                of_both > 0 ? fmt::format("; {} of the runs have the whole protocol's numbers, too", of_both) : ""));
  }
  if (const int64_t left_out = std::min(of_whole, of_cheap); left_out > 0) {
    notes.push_back(fmt::format("{} of {} runs were evaluated {} alone and are left out: their numbers are not comparable with the others'",
                                left_out, runs.size(), takes_cheap ? "by the whole protocol" : "with --cheap"));
  }
  return table_rows(compared, metrics, takes_cheap ? cheap : whole);
}

// True if the evaluated images chose the epoch of a row's probe: one without held-out images. Not that of another data set.
bool is_chosen_by_evaluated(const ComparedRuns& compared, const ComparedRow& row, const std::string& metric) {
  const auto chose = [split = split_of(metric).split](const EvaluationRecord& record) {
    return record.data.empty() && record.trained_probe && record.trained_probe->selected_on == split;
  };
  return std::ranges::any_of(row.runs, [&](size_t run) { return std::ranges::any_of(compared.runs[run].evaluations, chose); });
}

[[noreturn]] void refuse_empty_table(const ComparedRuns& compared, const SeedTable& table, const std::vector<std::string>& metrics,
                                     const EpochChoice& asked) {
  const std::string where = (asked.which == TableEpoch::kNumber ? "" : "its ") + table.epoch, epochs = epochs_with(compared, metrics);
  if (!epochs.empty())
    throw usage_error("table: no run has '{}' at {}; epochs that have it: {}; give one with --epoch", table.metric, where, epochs);
  throw usage_error("table: no run has '{}' at {}{}", table.metric, where, suggestion(metrics.front(), measured_metrics(compared)));
}

// By either protocol of sentence tasks: a note names the runs that were evaluated by the other one.
bool is_measured(const RunRecord& run, const std::vector<std::string>& metrics, const EpochChoice& epoch) {
  return std::ranges::any_of(metrics, [&](const auto& metric) {
    return !std::isnan(value_at(run, metric, {epoch, false})) || !std::isnan(value_at(run, metric, {epoch, true}));
  });
}

void note_missing_values(const ComparedRuns& compared, const std::vector<std::string>& metrics, const TableReading& reading,
                         SeedTable& table) {
  size_t missing = 0;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const std::string& metric = table.rows[i].metric;
    const std::vector<std::string> own = metric.empty() ? metrics : std::vector<std::string>{metric};
    missing +=
        std::ranges::count_if(compared.rows[i].runs, [&](size_t run) { return !is_measured(compared.runs[run], own, reading.epoch); });
  }
  if (missing == 0) return;
  const char* article = reading.epoch.which == TableEpoch::kNumber ? "" : "the ";
  table.notes.push_back(
      fmt::format("{} of {} runs have no number at {}{} and are left out", missing, runs_of_rows(compared).size(), article, table.epoch));
}

nlohmann::ordered_json json_number(double value) { return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(); }

nlohmann::ordered_json to_json(const TableRow& row) {
  nlohmann::ordered_json json = {{"label", row.label},
                                 {"variant", row.variant},
                                 {"grid", nlohmann::ordered_json::object()},
                                 {"metric", row.metric},
                                 {"seeds", row.seeds},
                                 {"mean", json_number(row.interval.mean)},
                                 {"half_width", json_number(row.interval.half_width)}};
  for (const auto& [key, value] : row.grid) json["grid"][key] = value;
  for (const double value : row.values) json["values"].push_back(json_number(value));
  if (row.values.empty()) json["values"] = nlohmann::ordered_json::array();
  json["minutes"] = json_number(row.minutes);
  json["expected"] = row.published ? json_number(row.published->value) : nlohmann::ordered_json();
  json["spread"] = row.published && row.published->spread ? json_number(*row.published->spread) : nlohmann::ordered_json();
  json["expected_runs"] = row.published && row.published->runs ? nlohmann::ordered_json(*row.published->runs) : nlohmann::ordered_json();
  json["expected_epoch"] =
      row.published && row.published->epoch > 0 ? nlohmann::ordered_json(row.published->epoch) : nlohmann::ordered_json();
  json["expected_minutes"] = row.published && row.published->minutes ? json_number(*row.published->minutes) : nlohmann::ordered_json();
  json["source"] = row.published ? nlohmann::ordered_json(row.published->source) : nlohmann::ordered_json();
  return json;
}

nlohmann::ordered_json to_json(const TableDifference& difference, const std::vector<TableRow>& rows) {
  nlohmann::ordered_json json = {{"a", rows[difference.a].label},
                                 {"b", rows[difference.b].label},
                                 {"mean", json_number(difference.interval.mean)},
                                 {"half_width", json_number(difference.interval.half_width)},
                                 {"n", difference.interval.n},
                                 {"paired", difference.paired},
                                 {"p", json_number(difference.interval.p)},
                                 {"p_holm", json_number(difference.p_holm)}};
  for (const char* key : {"published", "outcome", "outcome_holm"}) json[key] = nullptr;
  if (!difference.published) return json;
  const PublishedDifference& published = *difference.published;
  json["published"] = {{"mean", published.mean}, {"spread", nullptr}, {"conclusive", nullptr}};
  if (published.spread) json["published"]["spread"] = *published.spread;
  if (published.conclusive) json["published"]["conclusive"] = *published.conclusive;
  json["outcome"] = to_text(published.outcome);
  json["outcome_holm"] = to_text(published.outcome_holm);
  return json;
}

nlohmann::ordered_json counts_json(const std::vector<TableDifference>& ordering, Outcome PublishedDifference::*outcome) {
  nlohmann::ordered_json json;
  for (const auto& [each, count] : outcome_counts(ordering, outcome)) json[to_text(each)] = count;
  return json;
}

}  // namespace

SeedTable seed_table(const ComparedRuns& compared, const SeedTableOptions& options) {
  const std::vector<std::string> metrics = metrics_of_table(compared, options);
  SeedTable table;
  for (const auto& metric : metrics) table.metric += (table.metric.empty() ? "" : ", ") + metric;
  const TableReading reading = {chosen_epoch(compared, options.epoch)};
  table.epoch = epoch_words(compared, reading);
  table.notes = compared.notes;
  table.rows = rows_evaluated_alike(compared, metrics, reading, table.notes);
  if (!has_values(table.rows) && !measured_metrics(compared).empty()) {
    refuse_empty_table(compared, table, metrics, reading.epoch);
  }
  note_missing_values(compared, metrics, reading, table);
  note_other_expectations(compared, table.notes);
  note_shares_above_one(table);
  note_published_epochs(table, reading.epoch);
  for (auto& note : data_notes(compared)) table.notes.push_back(std::move(note));
  table.differences = differences_of(table.rows, options.against);
  table.ordering = ordering_of(table.rows);
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const std::string& metric = table.rows[i].metric;
    const std::string last = compared.titles->last_epoch_of(metric);
    if (last.empty() || !is_chosen_by_evaluated(compared, compared.rows[i], metric)) continue;
    table.notes.push_back(fmt::format(
        "{} is that of the probe's best epoch, chosen by the evaluated images, as the protocol defines it; {} is that of its last epoch",
        metric, last));
    break;
  }
  return table;
}

nlohmann::ordered_json to_json(const SeedTable& table) {
  nlohmann::ordered_json json = {{"metric", table.metric}, {"epoch", table.epoch}};
  for (const char* list : {"rows", "differences", "ordering"}) json[list] = nlohmann::ordered_json::array();
  for (const auto& row : table.rows) json["rows"].push_back(to_json(row));
  for (const auto& difference : table.differences) json["differences"].push_back(to_json(difference, table.rows));
  for (const auto& ordering : table.ordering) {
    json["ordering"].push_back(to_json(ordering, table.rows));
    json["ordering"].back()["expected"] = ordering.published->mean;
    json["ordering"].back()["verdict"] = to_text(ordering.published->outcome);
  }
  json["ordering_counts"] = {{"raw", counts_json(table.ordering, &PublishedDifference::outcome)},
                             {"holm", counts_json(table.ordering, &PublishedDifference::outcome_holm)}};
  json["notes"] = table.notes;
  return json;
}

}  // namespace debias
