#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "debias/report/charts/curve_figures.h"
#include "debias/report/recipe_facts.h"
#include "debias/report/recipe_text.h"
#include "debias/report/sections/report_sections.h"
#include "debias/report/tables/number_text.h"

namespace debias {
namespace {

Cell number_cell(const std::vector<NumberRow>& rows, const NumberRow& row, size_t column) {
  const NumberText text = number_text(rows, row, column);
  if (!text.is_number()) return {text.value == "–" ? plain(text.value) : element("span", "small", plain(text.value)), "n", ""};
  Html content = row.best == static_cast<int>(column) ? strong(text.value) : plain(text.value);
  for (const auto& beside : {text.interval, text.remark}) {
    if (!beside.empty()) content += element("span", "small", plain(" " + beside));
  }
  return {content, "n", ""};
}

// "within", "outside", or nothing where there is no tolerance.
std::string expectation_met(double found, const Published& expected) {
  if (std::isnan(found)) return "not measured";
  if (!expected.tolerance) return "";
  return std::fabs(found - expected.value) <= *expected.tolerance * (1 + 1e-9) ? "within" : "outside";
}

// Value at the epoch of the published number; 0: the last one.
double found_at(const ReportData& data, size_t column, const std::string& metric, int64_t epoch) {
  if (epoch > 0 && epoch != data.columns[column].shown().recipe.epochs) {
    const ColumnCurve curve = column_curve(data.columns[column], metric, false);
    const auto at = std::ranges::find(curve.x, static_cast<double>(epoch));
    return at == curve.x.end() ? NAN : curve.y[static_cast<size_t>(at - curve.x.begin())];
  }
  const NumberRow* row = row_with_number(data.rows, "", metric, column);
  return row == nullptr ? NAN : row->by_column[column]->value;
}

Row expected_row(const ReportData& data, size_t column, const Published& expected) {
  const Unit unit = data.columns[column].titles().unit(expected.metric);
  const int64_t epoch = std::max<int64_t>(0, expected.epoch), trained = data.columns[column].shown().epochs_done;
  const double found = found_at(data, column, expected.metric, epoch);
  const std::string of_epoch = epoch > 0 ? fmt::format(", epoch {}", epoch) : "";
  const std::string within = expected.tolerance ? " ± " + metric_number(unit, *expected.tolerance) : "";
  return {{{plain(data.columns[column].title() + ", " + expected.metric + of_epoch), "", ""},
           {plain(metric_number(unit, expected.value) + within), "n", ""},
           {plain(std::isnan(found) ? "–" : metric_number(unit, found)), "n", ""},
           {plain(epoch > trained ? fmt::format("trained for {} epochs", trained) : expectation_met(found, expected)), "", ""},
           {plain(expected.source), "text", ""}},
          false};
}

}  // namespace

void add_key_numbers(Page& page, const ReportData& data) {
  page.heading(2, "Key numbers");
  if (data.rows.empty()) {
    page.paragraph(plain("No epoch is finished and nothing was evaluated yet."), "missing");
    return;
  }
  Table table;
  table.css_class = "numbers key";
  table.head.push_back({plain("metric"), "", ""});
  for (const auto& column : data.columns) {
    Html head = plain(column.title());
    if (!column.shown().finished()) head += element("span", "small", plain(fmt::format(" ({})", progress_text(column.shown()))));
    table.head.push_back({head, "n", ""});
  }
  bool files = false;
  const std::string* heading = nullptr;
  for (const auto& row : data.rows) {
    if (!has_own_row(data.rows, row)) continue;
    if (heading == nullptr || *heading != row.heading) table.rows.push_back({{{plain(row.heading), "", ""}}, true});
    heading = &row.heading;
    table.rows.push_back({{{plain(row.title.title), "", ""}}, false});
    for (size_t column = 0; column < data.columns.size(); ++column) {
      table.rows.back().cells.push_back(number_cell(data.rows, row, column));
      files = files || (row.by_column[column] && row.by_column[column]->source.ends_with(".json"));
    }
  }
  page.table(table);
  std::string note = files ? "Numbers are from evaluation/*.json, and from the last epoch line of training where no file has them."
                           : "Numbers are from the last epoch line of training.";
  for (const auto& more : number_notes(data.columns, data.rows)) note += " " + more;
  page.paragraph(plain(note), "note");
  add_missing(page, data.runs, Part::kSentenceTasks);
}

// Expected numbers of the recipe beside those of the run.
void add_expected(Page& page, const ReportData& data) {
  Table table;
  table.css_class = "numbers";
  for (const char* head : {"run and metric", "expected", "found", "", "source"}) table.head.push_back({plain(head), "", ""});
  table.head[1].css_class = table.head[2].css_class = "n";
  for (size_t i = 0; i < data.columns.size(); ++i) {
    for (const auto& expected : data.columns[i].shown().recipe.expected) {
      if (!std::isnan(expected.value)) table.rows.push_back(expected_row(data, i, expected));
    }
  }
  if (table.rows.empty()) return;
  page.heading(2, "What was expected");
  page.table(table);
}

}  // namespace debias
