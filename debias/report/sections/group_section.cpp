#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "debias/report/prediction_source.h"
#include "debias/report/sections/class_tables.h"
#include "debias/report/sections/evaluation_figures.h"
#include "debias/report/sections/group_tables.h"
#include "debias/report/sections/report_sections.h"

namespace debias {
namespace {

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

void add_groups(Page& page, const ReportData& data) {
  page.heading(2, "Groups");
  for (const auto& set : evaluated_sets(data.shown, "groups")) {
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
  page.heading(2, "Classes");
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
