#include "debias/report/seed_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/report/judged_texts.h"
#include "debias/report/metric_title.h"
#include "debias/report/recipe_text.h"

namespace debias {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

std::string select_of(const RunRecord& run) { return text_at_path(run.config, {"evaluate", "select"}); }

// The epoch at which `select` is highest; 0 where it was never measured.
double selected_epoch(const RunRecord& run) {
  const auto found = run.history.by_epoch.find(select_of(run));
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

// Which of a run's numbers a table takes.
struct Reading {
  TableEpoch epoch = TableEpoch::kLast;  // never kAuto
  int64_t number = 0;                    // of kNumber
  bool cheap = false;                    // of sentence tasks those of --cheap, else of the whole protocol; one is never taken for the other
};

// Whether a file speaks of the run alone, and of nothing but what it was trained on: not of another data set, the untrained encoder, several
// runs' vectors together or words from a file.
bool is_own(const EvaluationRecord& record, const Reading& reading) {
  if (record.protocol != "sentences") return record.data.empty();
  const bool other = record.has_option("untrained", true) || record.options.contains("with") || record.options.contains("expand");
  return !other && record.has_option("mode", "cheap") == reading.cheap;
}

double read_epoch(const RunRecord& run, const Reading& reading) {
  if (reading.epoch == TableEpoch::kNumber) return static_cast<double>(reading.number);
  return reading.epoch == TableEpoch::kSelected ? selected_epoch(run) : static_cast<double>(run.epochs);
}

// What `debias eval` has left of the epoch and has the metric; null where there is none.
const EvaluationRecord* record_at(const RunRecord& run, const std::string& metric, const Reading& reading) {
  const double epoch = read_epoch(run, reading);
  const auto found = std::ranges::find_if(run.evaluations, [&](const EvaluationRecord& record) {
    return is_own(record, reading) && static_cast<double>(record.epoch) == epoch && record.metric(metric) != nullptr;
  });
  return found == run.evaluations.end() ? nullptr : &*found;
}

// Of an epoch line, else of a record; NaN where neither has it.
double value_at(const RunRecord& run, const std::string& metric, const Reading& reading) {
  const double epoch = read_epoch(run, reading);
  if (const auto curve = run.history.by_epoch.find(metric); curve != run.history.by_epoch.end()) {
    for (size_t i = curve->second.x.size(); i-- > 0;) {
      if (curve->second.x[i] == epoch && !std::isnan(curve->second.y[i])) return curve->second.y[i];
    }
  }
  const EvaluationRecord* record = record_at(run, metric, reading);
  return record == nullptr ? kNoValue : *record->metric(metric);
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') parts.emplace_back();
    if (c != ',' && c != ' ') parts.back().push_back(c);
  }
  std::erase(parts, "");
  return parts;
}

std::vector<const RunRecord*> runs_in(const ComparedRuns& compared) {
  std::vector<const RunRecord*> runs;
  for (const auto& row : compared.rows) {
    for (const size_t run : row.runs) runs.push_back(&compared.runs[run]);
  }
  return runs;
}

std::vector<std::string> names_of_all(const ComparedRuns& compared) {
  std::set<std::string> names;
  for (const RunRecord* run : runs_in(compared)) {
    for (const auto& [name, curve] : run->history.by_epoch) names.insert(name);
    for (const auto& record : run->evaluations) {
      if (!is_own(record, {.cheap = false}) && !is_own(record, {.cheap = true})) continue;
      for (const auto& metric : record.metrics) names.insert(metric.first);
    }
  }
  return {names.begin(), names.end()};
}

std::vector<Config> expectations(const RunRecord& run) {
  const Config* expected = run.config.find("expected");
  return expected == nullptr || !expected->is_sequence() ? std::vector<Config>() : expected->items();
}

std::vector<std::string> metrics_of_table(const ComparedRuns& compared, const SeedTableOptions& options) {
  if (!options.metrics.empty()) return options.metrics;
  if (auto named = split_at_commas(compared.metric); !named.empty()) return named;
  for (const RunRecord* run : runs_in(compared)) {
    for (const auto& item : expectations(*run)) return {text_at_path(item, {"metric"})};
  }
  throw usage_error("table: no metric is told; give --metric, such as test.knn_acc1");
}

// kAuto is no more in it.
TableEpoch epoch_of_table(const ComparedRuns& compared, TableEpoch asked) {
  if (asked == TableEpoch::kLast || asked == TableEpoch::kNumber) return asked;
  const auto runs = runs_in(compared);
  const auto has_select = [](const RunRecord* run) { return select_of(*run).starts_with("valid."); };
  if (asked == TableEpoch::kAuto) return !runs.empty() && std::ranges::all_of(runs, has_select) ? TableEpoch::kSelected : TableEpoch::kLast;
  const auto without = std::ranges::find_if_not(runs, has_select);
  if (without == runs.end()) return TableEpoch::kSelected;
  throw usage_error(
      "table: run '{}' has no `evaluate.select` on valid, so that no epoch is chosen; leave --epoch out, or train with select",
      (*without)->path);
}

std::optional<Published> published_of(const RunRecord& run, const std::string& metric) {
  for (const auto& item : expectations(run)) {
    Published published;
    double spread = 0;
    if (text_at_path(item, {"metric"}) != metric || !parse_number(text_at_path(item, {"value"}), &published.value)) continue;
    if (parse_number(text_at_path(item, {"spread"}), &spread)) published.spread = spread;
    published.source = text_at_path(item, {"source"});
    return published;
  }
  return std::nullopt;
}

double mean_minutes(const ComparedRuns& compared, const ComparedRow& row) {
  std::vector<double> minutes;
  for (const size_t number : row.runs) minutes.push_back(compared.runs[number].speed.seconds / 60);
  return seed_interval(minutes).mean;
}

// With the values of the first metric that a run of the row has.
TableRow table_row(const ComparedRuns& compared, const ComparedRow& row, const std::vector<std::string>& metrics, const Reading& reading) {
  TableRow found{row.label, row.variant, row.grid, "", {}, {}, seed_interval({}), mean_minutes(compared, row), std::nullopt};
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
  if (!row.runs.empty()) {
    const auto& metric = found.metric.empty() ? metrics.front() : found.metric;
    const RunRecord& first = compared.runs[row.runs.front()];
    found.published = published_of(first, metric);
    found.task = text_at_path(first.config, {"environment", "task"});
  }
  return found;
}

void require_texts_alike(const ComparedRuns& compared, const std::vector<TableRow>& rows, const Reading& reading) {
  std::map<std::string, std::vector<TaskJudgement>> judged;  // by metric
  for (size_t i = 0; i < rows.size(); ++i) {
    for (const size_t number : compared.rows[i].runs) {
      const RunRecord& run = compared.runs[number];
      const EvaluationRecord* record = record_at(run, rows[i].metric, reading);
      if (record != nullptr && record->protocol == "sentences") judged[rows[i].metric].push_back({&run, record});
    }
  }
  for (const auto& [metric, judgements] : judged) {
    require_same_texts("table", metric.substr(0, metric.find('_')), judgements);  // mr_acc is of mr
  }
}

std::vector<TableRow> table_rows(const ComparedRuns& compared, const std::vector<std::string>& metrics, const Reading& reading) {
  std::vector<TableRow> rows;
  for (const auto& row : compared.rows) rows.push_back(table_row(compared, row, metrics, reading));
  require_texts_alike(compared, rows, reading);
  return rows;
}

bool has_values(const std::vector<TableRow>& rows) {
  return std::ranges::any_of(rows, [](const TableRow& row) { return !row.values.empty(); });
}

bool has_judgement(const RunRecord& run, const std::vector<std::string>& metrics, const Reading& reading) {
  return std::ranges::any_of(metrics, [&](const auto& metric) { return record_at(run, metric, reading) != nullptr; });
}

// The whole protocol's numbers, or those of --cheap where more runs have these alone. What that leaves out is said.
std::vector<TableRow> rows_judged_alike(const ComparedRuns& compared, const std::vector<std::string>& metrics, const Reading& whole,
                                        std::vector<std::string>& notes) {
  const Reading cheap = {whole.epoch, whole.number, true};
  int64_t of_whole = 0, of_cheap = 0, of_both = 0;
  for (const RunRecord* run : runs_in(compared)) {
    const bool has_whole = has_judgement(*run, metrics, whole), has_cheap = has_judgement(*run, metrics, cheap);
    of_whole += has_whole && !has_cheap;
    of_cheap += has_cheap && !has_whole;
    of_both += has_cheap && has_whole;
  }
  const bool takes_cheap = of_cheap > of_whole;
  if (takes_cheap) {
    notes.push_back(fmt::format("judged with --cheap: C was chosen on one tenth of a training part, not by ten folds{}",
                                of_both > 0 ? fmt::format("; {} of the runs have the whole protocol's numbers, too", of_both) : ""));
  }
  if (const int64_t left_out = std::min(of_whole, of_cheap); left_out > 0) {
    notes.push_back(fmt::format("{} runs were judged {} alone and are left out: their numbers do not compare with the others'", left_out,
                                takes_cheap ? "by the whole protocol" : "with --cheap"));
  }
  return table_rows(compared, metrics, takes_cheap ? cheap : whole);
}

// Over the seeds that both rows have; of means of different seeds where these are too few to tell a spread.
TableDifference difference_of(const std::vector<TableRow>& rows, size_t a, size_t b) {
  std::vector<double> of_a, of_b;
  for (size_t i = 0; i < rows[a].seeds.size(); ++i) {
    const auto other = std::ranges::find(rows[b].seeds, rows[a].seeds[i]);
    if (other == rows[b].seeds.end()) continue;
    of_a.push_back(rows[a].values[i]);
    of_b.push_back(rows[b].values[static_cast<size_t>(other - rows[b].seeds.begin())]);
  }
  const bool more_tell = std::min(rows[a].values.size(), rows[b].values.size()) > 1;
  if (of_a.size() > 1 || (!of_a.empty() && !more_tell)) return {a, b, paired_difference(of_a, of_b), true};
  return {a, b, welch_difference(rows[a].values, rows[b].values), false};
}

bool has_variants(const std::vector<TableRow>& rows) {
  return std::ranges::any_of(rows, [&](const TableRow& row) { return row.variant != rows.front().variant; });
}

// Returns of different tasks say nothing of each other. A row without runs has none.
bool share_a_task(const TableRow& a, const TableRow& b) { return a.task.empty() || b.task.empty() || a.task == b.task; }

// Which rows are compared with each other: variants at one point of the grid; without variants, all of a task.
bool are_compared(const std::vector<TableRow>& rows, size_t a, size_t b) {
  return share_a_task(rows[a], rows[b]) && (!has_variants(rows) || rows[a].grid == rows[b].grid);
}

// A paper's table may have a classifier's accuracy beside those of probes; a share is not compared with a loss.
bool have_one_unit(const TableRow& a, const TableRow& b, const MetricTitles& titles) {
  return a.metric == b.metric || titles.unit(a.metric) == titles.unit(b.metric);
}

// Whether the judged images chose the epoch of a row's probe: linear_supcon without held-out images. Not that of another data set.
bool is_chosen_by_judged(const ComparedRuns& compared, const ComparedRow& row, const std::string& metric) {
  const auto [split, name] = split_of(metric);
  if (name != "linear_acc1" && name != "linear_acc5") return false;
  const auto chose = [split = split](const EvaluationRecord& record) {
    return record.protocol == "linear_supcon" && record.data.empty() && record.trained_probe && record.trained_probe->selected_on == split;
  };
  return std::ranges::any_of(row.runs, [&](size_t run) { return std::ranges::any_of(compared.runs[run].evaluations, chose); });
}

std::vector<TableDifference> differences_of(const std::vector<TableRow>& rows, const std::string& against, const MetricTitles& titles) {
  std::vector<TableDifference> differences;
  size_t chosen = rows.size();
  if (!against.empty()) {
    std::vector<std::string> labels;
    for (const auto& row : rows) labels.push_back(row.label);
    chosen = static_cast<size_t>(std::ranges::find(labels, against) - labels.begin());
    if (chosen == rows.size()) throw usage_error("table: --against '{}': no such row{}", against, suggestion(against, labels));
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    size_t reference = chosen;
    for (size_t other = 0; reference == rows.size() && other <= i; ++other) {
      if (are_compared(rows, other, i)) reference = other;
    }
    if (reference == i || rows[i].values.empty() || rows[reference].values.empty() || !share_a_task(rows[i], rows[reference])) continue;
    if (!have_one_unit(rows[i], rows[reference], titles)) continue;
    differences.push_back(difference_of(rows, i, reference));
  }
  return differences;
}

OrderingVerdict verdict_of(const SeedInterval& interval) {
  if (!(interval.half_width > 0)) return OrderingVerdict::kOpen;  // one seed, or seeds without any spread
  if (interval.low() > 0) return OrderingVerdict::kHolds;
  return interval.high() < 0 ? OrderingVerdict::kReversed : OrderingVerdict::kOpen;
}

std::vector<TableOrdering> ordering_of(const std::vector<TableRow>& rows, const MetricTitles& titles) {
  std::vector<TableOrdering> ordering;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = i + 1; j < rows.size(); ++j) {
      if (!rows[i].published || !rows[j].published || !have_one_unit(rows[i], rows[j], titles) || !are_compared(rows, i, j)) continue;
      const double difference = rows[i].published->value - rows[j].published->value;
      if (difference == 0 || rows[i].values.empty() || rows[j].values.empty()) continue;
      const TableDifference ours = difference > 0 ? difference_of(rows, i, j) : difference_of(rows, j, i);
      ordering.push_back({ours, std::fabs(difference), verdict_of(ours.interval)});
    }
  }
  return ordering;
}

std::string epoch_words(const ComparedRuns& compared, const Reading& reading) {
  if (reading.epoch == TableEpoch::kNumber) return fmt::format("epoch {}", reading.number);
  if (reading.epoch == TableEpoch::kLast) return "last epoch";
  std::set<std::string> selects;
  for (const RunRecord* run : runs_in(compared)) selects.insert(select_of(*run));
  std::string words = "epoch chosen by ";
  for (const auto& select : selects) words += (select == *selects.begin() ? "" : ", ") + select;
  return words;
}

// Of all epochs at which a run has one of the metrics; "" where there is none.
std::string epochs_with(const ComparedRuns& compared, const std::vector<std::string>& metrics) {
  std::set<double> epochs;
  for (const RunRecord* run : runs_in(compared)) {
    for (const auto& metric : metrics) {
      if (const auto curve = run->history.by_epoch.find(metric); curve != run->history.by_epoch.end()) {
        for (size_t i = 0; i < curve->second.x.size(); ++i) {
          if (!std::isnan(curve->second.y[i])) epochs.insert(curve->second.x[i]);
        }
      }
      for (const auto& record : run->evaluations) {
        const bool own = is_own(record, {.cheap = false}) || is_own(record, {.cheap = true});
        if (own && record.metric(metric) != nullptr) epochs.insert(static_cast<double>(record.epoch));
      }
    }
  }
  constexpr size_t kShown = 10;
  if (epochs.size() <= kShown) return fmt::format("{}", fmt::join(epochs, ", "));
  return fmt::format("{} of them, {} to {}", epochs.size(), *epochs.begin(), *epochs.rbegin());
}

[[noreturn]] void refuse_empty_table(const ComparedRuns& compared, const SeedTable& table, const std::vector<std::string>& metrics,
                                     TableEpoch asked) {
  const std::string where = (asked == TableEpoch::kNumber ? "" : "its ") + table.epoch, epochs = epochs_with(compared, metrics);
  if (!epochs.empty()) throw usage_error("table: no run has '{}' at {}; epochs that have it: {}", table.metric, where, epochs);
  throw usage_error("table: no run has '{}' at {}{}", table.metric, where, suggestion(metrics.front(), names_of_all(compared)));
}

// Runs of the epoch that was asked for by its number which were not measured then.
void note_missing_values(const ComparedRuns& compared, SeedTable& table) {
  size_t runs = 0, values = 0;
  for (const auto& row : compared.rows) runs += row.runs.size();
  for (const auto& row : table.rows) values += row.values.size();
  if (values < runs)
    table.notes.push_back(fmt::format("{} of {} runs have no number at {} and are left out", runs - values, runs, table.epoch));
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
  json["source"] = row.published ? nlohmann::ordered_json(row.published->source) : nlohmann::ordered_json();
  return json;
}

nlohmann::ordered_json to_json(const TableDifference& difference, const std::vector<TableRow>& rows) {
  return {{"a", rows[difference.a].label},
          {"b", rows[difference.b].label},
          {"mean", json_number(difference.interval.mean)},
          {"half_width", json_number(difference.interval.half_width)},
          {"n", difference.interval.n},
          {"paired", difference.paired}};
}

}  // namespace

const char* to_text(OrderingVerdict verdict) {
  return verdict == OrderingVerdict::kHolds ? "holds" : verdict == OrderingVerdict::kReversed ? "reversed" : "open";
}

SeedTable seed_table(const ComparedRuns& compared, const SeedTableOptions& options) {
  const std::vector<std::string> metrics = metrics_of_table(compared, options);
  SeedTable table;
  for (const auto& metric : metrics) {
    table.metric += (table.metric.empty() ? "" : ", ") + metric;
    require_same_data(compared, metric);
  }
  table.unit = compared.titles->unit(metrics.front());
  const Reading reading = {epoch_of_table(compared, options.epoch), options.epoch_number, false};
  table.epoch = epoch_words(compared, reading);
  table.notes = compared.notes;
  table.rows = rows_judged_alike(compared, metrics, reading, table.notes);
  if (!has_values(table.rows) && !names_of_all(compared).empty()) {
    refuse_empty_table(compared, table, metrics, reading.epoch);
  }
  if (reading.epoch == TableEpoch::kNumber) note_missing_values(compared, table);
  table.differences = differences_of(table.rows, options.against, *compared.titles);
  table.ordering = ordering_of(table.rows, *compared.titles);
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const std::string& metric = table.rows[i].metric;
    if (!is_chosen_by_judged(compared, compared.rows[i], metric)) continue;
    std::string last = metric;
    last.replace(last.find("linear_"), 7, "linear_last_");
    table.notes.push_back(fmt::format(
        "{} is that of the probe's best epoch, which the images that it judges chose, as the protocol has it; {} is its last one's", metric,
        last));
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
    json["ordering"].push_back(to_json(ordering.difference, table.rows));
    json["ordering"].back()["expected"] = ordering.published;
    json["ordering"].back()["verdict"] = to_text(ordering.verdict);
  }
  json["notes"] = table.notes;
  return json;
}

}  // namespace debias
