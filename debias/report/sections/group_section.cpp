#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "debias/report/run_column.h"
#include "debias/report/sections/evaluation_figures.h"
#include "debias/report/sections/report_sections.h"
#include "debias/report/seed_interval.h"

namespace debias {
namespace {

// Tables of classes: accuracy of each, and which was taken for which.

// Null where there is none.
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

// The sets of which some run has class tables, test before valid, own data first.
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
  for (const auto& [data, later, split] : found) sets.push_back({data, split, columns.front().shown().shown_split(split)});
  return sets;
}

// Whose predictions to show of a set: one source that all columns have, a classifier before a probe before kNN; else all that occur.
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

// Accuracy by class, a column of the table for each of `columns`; of several seeds the mean, with half of its interval.
Table class_table(const std::vector<RunColumn>& columns, const EvaluatedSet& set, const std::string& source) {
  Table table{fmt::format("Accuracy by class, {}; predictions by {}", set.title(), source_title(source)), "numbers", {}, {}};
  table.add_heads({"class"});
  table.add_heads({"images"}, true);
  std::vector<std::string> classes;
  std::vector<int64_t> counts;
  for (const auto& column : columns) {
    table.add_heads({column.title()}, true);
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

// Of a run that has one.
Table confusion_matrix(const ClassTable& classes, const std::string& caption) {
  Table table{caption, "heat", {}, {}};
  table.add_heads({"label \\ predicted"});
  table.add_heads(classes.classes);
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

// Tables of groups: accuracy by class and bias label, and rates by bias label.
Cell share_cell(double share) {
  if (std::isnan(share)) return {plain("–"), "", "--v:0"};
  return {plain(fmt::format("{:.1f}", 100 * share)), "", fmt::format("--v:{:.3f}", share)};
}

// Accuracy of each group, above the number of its images.
Table group_table(const EvaluationRecord& record, const EvaluatedSet& set, const std::string& caption) {
  const GroupTable& groups = record.groups.at(set.split);
  const bool has_own = record.metric(set.split + ".aligned_acc") != nullptr;
  const double* worst = record.metric(set.split + ".worst_group_acc");
  Table table{caption, "heat", {}, {}};
  table.add_heads({"label \\ bias"});
  table.add_heads(groups.biases);
  for (size_t y = 0; y < groups.labels.size(); ++y) {
    Row row;
    row.cells.push_back({plain(groups.labels[y]), "", ""});
    for (size_t b = 0; b < groups.biases.size(); ++b) {
      const double accuracy = groups.accuracy[y][b];
      Cell cell = share_cell(accuracy);
      if (!std::isnan(accuracy)) cell.content += element("span", "small", plain(fmt::format("{}", groups.count[y][b])));
      if (has_own && record.is_aligned(groups, y, b).value_or(false)) cell.css_class = "own";
      if (worst != nullptr && accuracy == *worst) cell.css_class = "least";
      row.cells.push_back(std::move(cell));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

// By bias label: images, error rate, and the selection rate of each class.
Table rates_table(const GroupTable& groups, const std::string& caption) {
  Table table{caption, "heat", {}, {}};
  table.add_heads({"bias", "images", "errors"});
  for (const auto& label : groups.labels) table.add_heads({"as " + label});
  for (const auto& rates : groups.rates) {
    Row row{{{plain(rates.bias), "", ""}, {plain(fmt::format("{}", rates.count)), "", "--v:0"}, share_cell(rates.error_rate)}, false};
    for (const double rate : rates.selection_rate) row.cells.push_back(share_cell(rate));
    table.rows.push_back(std::move(row));
  }
  return table;
}

constexpr size_t kFoldedCells = 150, kFoldedRuns = 4;

// Large tables, and those of many runs, are folded.
void add_table(Page& page, const Table& table, const std::string& summary, size_t cells, size_t runs) {
  if (cells > kFoldedCells || runs > kFoldedRuns) {
    page.folded(summary, table_in_scroller(table));
  } else {
    page.table(table);
  }
}

std::string predictions_words(const EvaluationRecord& record) {
  return record.predictions.empty() ? "" : "; predictions by " + source_title(record.predictions);
}

// "cat: red; dog: blue, green".
std::string aligned_words(const EvaluationRecord& record) {
  constexpr size_t kMostClasses = 12;
  if (!record.aligned || record.aligned->biases_of_class.size() > kMostClasses) return "";
  const std::map<std::string, std::vector<std::string>> sorted(record.aligned->biases_of_class.begin(),
                                                               record.aligned->biases_of_class.end());
  std::string words;
  for (const auto& [label, biases] : sorted) {
    std::string names;
    for (const auto& bias : biases) names += (names.empty() ? "" : ", ") + bias;
    if (!names.empty()) words += fmt::format("{}{}: {}", words.empty() ? "" : "; ", label, names);
  }
  return words;
}

void add_groups_of_run(Page& page, const ReportData& data, const RunRecord& run, const EvaluatedSet& set) {
  const EvaluationRecord* record = run.evaluation("groups", set.data);
  if (record == nullptr || !record->groups.contains(set.split)) return;
  const GroupTable& groups = record->groups.at(set.split);
  const size_t cells = groups.labels.size() * groups.biases.size();
  add_table(
      page,
      group_table(*record, set,
                  fmt::format("{}, {}: accuracy in percent, number of images below{}", run.label, set.title(), predictions_words(*record))),
      fmt::format("Groups of {}, {}", run.label, set.title()), cells, data.shown.size());
  if (!groups.rates.empty()) {
    add_table(page,
              rates_table(groups, fmt::format("{}, {}: errors, and how often each class is chosen, in percent, by bias label{}", run.label,
                                              set.title(), predictions_words(*record))),
              fmt::format("Rates by bias label of {}, {}", run.label, set.title()), cells, data.shown.size());
  }
  for (const auto& note : record->notes.value_or(std::vector<std::string>())) {
    if (note.find(fmt::format(" {}", set.split)) != std::string::npos) page.paragraph(plain(run.label + ": " + note), "note");
  }
  if (const std::string words = aligned_words(*record); !words.empty()) {
    page.paragraph(plain(fmt::format("{}: aligned are {}.", run.label, words)), "note");
  }
}

}  // namespace

Html groups_or_classes(const ReportData& data, size_t column) {
  const RunRecord& run = data.shown[column];
  if (const auto sets = evaluated_sets({run}, "groups"); !sets.empty() && sets.front().data.empty()) {
    const EvaluationRecord& record = *run.evaluation("groups");
    return table_in_scroller(group_table(
        record, sets.front(), fmt::format("{}: percent right, number of images below; outlined: the shortcut's own", run.label)));
  }
  const auto sets = class_sets(data.columns);
  if (sets.empty()) return {};
  const auto sources = class_sources(data.columns, sets.front());
  return sources.empty() ? Html{} : table_in_scroller(class_table(data.columns, sets.front(), sources.front()));
}

void add_groups(Page& page, const ReportData& data) {
  page.heading(2, "Groups", "accuracy of every class with every bias label, errors and rates by bias label");
  const auto sets = evaluated_sets(data.shown, "groups");
  for (const EvaluatedSet& set : sets) {
    page.figures(group_figures(data.columns, data.rows, set));
    for (const auto& run : data.shown) add_groups_of_run(page, data, run, set);
    page.paragraph(plain("Grey outline: the bias label belongs to the class. Red outline: the lowest accuracy."), "note");
  }
  add_missing(page, data.runs, Part::kGroups);
  if (const std::string words = unknown_bias_words(data.runs); !words.empty()) page.paragraph(plain(words), "missing");
}

void add_classes(Page& page, const ReportData& data) {
  const auto sets = class_sets(data.columns);
  if (sets.empty()) return;
  page.heading(2, "Classes", "accuracy of each class, and what it was taken for");
  for (const auto& set : sets) {
    for (const auto& source : class_sources(data.columns, set)) {
      page.table(class_table(data.columns, set, source));
      for (const auto& run : data.shown) {
        const ClassTable* classes = classes_of(run, set, source);
        if (classes == nullptr || classes->confusion.empty()) continue;
        const std::string where = fmt::format("{}, {}, {}", run.label, set.title(), source_title(source));
        add_table(page, confusion_matrix(*classes, where + ": class in rows, what it was taken for in columns, number of images"),
                  "Confusion matrix of " + where, classes->classes.size() * classes->classes.size(), data.shown.size());
      }
    }
  }
}

}  // namespace debias
