#include "debias/runs/compared_sweeps.h"

#include <fmt/format.h>

#include <cctype>

#include "debias/core/error.h"
#include "debias/data/dataset_registry.h"
#include "debias/report/compared_runs.h"
#include "debias/report/tables/table_differences.h"

namespace debias {

std::vector<std::string> data_roots(const std::vector<RunRecord>& runs) {
  std::vector<Config> sections;
  for (const auto& run : runs) {
    const Config* data = run.config.find("data");
    if (data == nullptr) continue;
    for (const auto& [split, section] : data->entries()) sections.push_back(section);
  }
  return roots_of(sections);
}

std::vector<SeedTable> sweep_tables(const std::vector<std::string>& paths, const ReadingProgram& program, Log& log) {
  std::vector<SeedTable> tables;
  for (const auto& path : paths) {
    if (run_folders({path}) == std::vector<std::string>{path}) continue;
    const ComparedRuns compared = read_compared_runs({path}, program);
    if (compared.metric.empty()) continue;
    try {
      tables.push_back(seed_table(compared, {}));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUsage) throw;
      const std::string note = fmt::format("the table of '{}' is left out: {}", path, error.what());
      log.warn("report: " + note);
      tables.push_back({.metric = compared.metric, .epoch = "", .rows = {}, .differences = {}, .ordering = {}, .notes = {note}});
    }
  }
  return tables;
}

namespace {

// Metrics of conditions: means by the rows' labels in a form that it can spell, and the orderings.
NamedMetrics conditions_of(const SeedTable& table) {
  const auto spelt = [](std::string label) {
    for (char& c : label) {
      if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '_') c = '_';
    }
    return label;
  };
  NamedMetrics all;
  for (const auto& row : table.rows) {
    if (!row.values.empty()) all.emplace_back("mean." + spelt(row.label), row.interval.mean);
  }
  for (const auto& difference : table.differences) {
    const std::string pair = spelt(table.rows[difference.a].label) + ".over." + spelt(table.rows[difference.b].label);
    all.emplace_back("difference." + pair, difference.interval.mean);
    all.emplace_back("low." + pair, difference.interval.low());
    all.emplace_back("high." + pair, difference.interval.high());
    all.emplace_back("p_holm." + pair, difference.p_holm);
  }
  const auto add_counts = [&](Outcome PublishedDifference::*outcome, const char* adjusted) {
    for (const auto& [each, count] : outcome_counts(table.ordering, outcome))
      all.emplace_back(fmt::format("ordering.{}{}", to_text(each), adjusted), static_cast<double>(count));
  };
  add_counts(&PublishedDifference::outcome, "");
  add_counts(&PublishedDifference::outcome_holm, "_holm");
  return all;
}

}  // namespace

void require_no_condition(const SeedTable& table, const std::vector<Condition>& conditions) {
  const NamedMetrics all = conditions_of(table);
  for (const auto& condition : conditions) {
    for (const auto& [name, value] : metrics_of(condition, all)) {
      if (!condition.holds(value) && value == value) continue;
      throw Error(ErrorKind::kFailure, fmt::format("table: {} is {:.6g}, so --fail-if '{}' holds", name, value, condition.text));
    }
  }
}

}  // namespace debias
