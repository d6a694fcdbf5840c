#include "debias/report/sections/class_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include "debias/report/prediction_source.h"
#include "debias/report/seed_interval.h"

namespace debias {
namespace {

double accuracy_of(const ClassTable* table, const std::string& name) {
  if (table == nullptr) return std::numeric_limits<double>::quiet_NaN();
  const auto found = std::ranges::find(table->classes, name);
  return found == table->classes.end() ? std::numeric_limits<double>::quiet_NaN()
                                       : table->accuracy[static_cast<size_t>(found - table->classes.begin())];
}

Cell accuracy_cell(const RunColumn& column, const EvaluatedSet& set, const std::string& source, const std::string& name) {
  std::vector<double> values;
  for (const RunRecord* run : column.runs) values.push_back(accuracy_of(classes_of(*run, set, source), name));
  const SeedInterval interval = seed_interval(values);
  if (std::isnan(interval.mean)) return {plain("–"), "n", ""};
  Html content = plain(percent_text(interval.mean));
  if (!std::isnan(interval.half_width)) content += element("span", "small", plain(fmt::format(" ± {:.1f}", 100 * interval.half_width)));
  return {content, "n", ""};
}

}  // namespace

std::vector<EvaluatedSet> class_sets(const std::vector<RunColumn>& columns) {
  std::set<std::tuple<std::string, bool, std::string>> found;
  for (const auto& column : columns) {
    for (const auto& record : column.shown().evaluations) {
      for (const auto& [split, table] : record.classes) {
        if (!table.classes.empty()) found.emplace(record.data, split != "test", split);
      }
    }
  }
  std::vector<EvaluatedSet> sets;
  for (const auto& [data, later, split] : found) sets.push_back({data, split});
  return sets;
}

const ClassTable* classes_of(const RunRecord& run, const EvaluatedSet& set, const std::string& source) {
  const ClassTable* found = nullptr;
  for (const auto& record : run.evaluations) {
    if (record.data != set.data || record.predictions != source) continue;
    const auto table = record.classes.find(set.split);
    if (table == record.classes.end() || table->second.classes.empty()) continue;
    if (found == nullptr || record.is_of_groups()) found = &table->second;
  }
  return found;
}

std::vector<std::string> class_sources(const std::vector<RunColumn>& columns, const EvaluatedSet& set) {
  std::vector<std::string> any;
  for (const auto& [name, title] : kPredictionsOf) {
    const std::string source(name);
    const auto has = [&](const RunColumn& column) { return classes_of(column.shown(), set, source) != nullptr; };
    if (std::ranges::all_of(columns, has)) return {source};
    if (std::ranges::any_of(columns, has)) any.push_back(source);
  }
  return any;
}

Table class_table(const std::vector<RunColumn>& columns, const EvaluatedSet& set, const std::string& source) {
  Table table;
  table.caption = fmt::format("Accuracy by class, {}; predictions by {}", set.title(), source_title(source));
  table.css_class = "numbers";
  table.head = {{plain("class"), "", ""}, {plain("images"), "n", ""}};
  std::vector<std::string> classes;
  std::vector<int64_t> counts;
  for (const auto& column : columns) {
    table.head.push_back({plain(column.title()), "n", ""});
    const ClassTable* of_run = classes_of(column.shown(), set, source);
    for (size_t c = 0; of_run != nullptr && c < of_run->classes.size(); ++c) {
      if (std::ranges::find(classes, of_run->classes[c]) != classes.end()) continue;
      classes.push_back(of_run->classes[c]);
      counts.push_back(of_run->count[c]);
    }
  }
  for (size_t c = 0; c < classes.size(); ++c) {
    Row row{{{plain(classes[c]), "", ""}, {plain(fmt::format("{}", counts[c])), "n", ""}}, false};
    for (const auto& column : columns) row.cells.push_back(accuracy_cell(column, set, source, classes[c]));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table confusion_matrix(const ClassTable& classes, const std::string& caption) {
  Table table;
  table.caption = caption;
  table.css_class = "heat";
  table.head.push_back({plain("label \\ predicted"), "", ""});
  for (const auto& name : classes.classes) table.head.push_back({plain(name), "", ""});
  for (size_t label = 0; label < classes.classes.size(); ++label) {
    Row row{{{plain(classes.classes[label]), "", ""}}, false};
    const auto images = static_cast<double>(std::max<int64_t>(1, classes.count[label]));
    for (size_t predicted = 0; predicted < classes.classes.size(); ++predicted) {
      const int64_t count = classes.confusion[label][predicted];
      row.cells.push_back({plain(fmt::format("{}", count)), label == predicted ? "own" : "",
                           fmt::format("--v:{:.3f}", static_cast<double>(count) / images)});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace debias
