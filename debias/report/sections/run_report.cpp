#include "debias/report/sections/run_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "debias/report/sections/report_sections.h"

namespace debias {

ReportData::ReportData(const std::vector<RunRecord>& all)
    : runs(all),
      columns(run_columns(all)),
      shown(shown_runs(columns)),
      rows(key_numbers(columns)),
      has_images(std::ranges::any_of(all, &RunRecord::of_images)) {}

namespace {

// " on glyphs": the evaluated data, else those of training; "" where runs have none, or different ones.
std::string data_words(const std::vector<RunRecord>& runs) {
  std::string shared;
  for (const auto& run : runs) {
    const std::string& test = run.recipe.data_of("test").name;
    const std::string& name = test.empty() ? run.recipe.data_of("train").name : test;
    if (name.empty() || (!shared.empty() && name != shared)) return "";
    shared = name;
  }
  return shared.empty() ? "" : " on " + shared;
}

}  // namespace

std::string run_report_html(const std::vector<RunRecord>& runs, const std::string& debias_version, const std::vector<SeedTable>& tables) {
  constexpr size_t kNamedColumns = 3;
  const ReportData data(runs);
  std::string title;
  for (const auto& column : data.columns) title += (title.empty() ? "" : ", ") + column.label;
  if (data.columns.size() > kNamedColumns) title = fmt::format("{} settings in {} runs", data.columns.size(), runs.size());
  Page page(title + data_words(runs));
  if (data.has_images) add_verdict(page, data);
  for (const auto& table : tables) add_comparison(page, table);
  for (const auto add : {add_runs, add_key_numbers, add_differences, add_curves, add_videos}) add(page, data);
  if (data.has_images) {
    for (const auto add : {add_groups, add_classes, add_similarities, add_maps, add_neighbours}) add(page, data);
  }
  for (const auto add : {add_nearest_texts, add_expected, add_recipes}) add(page, data);
  page.paragraph(plain(fmt::format("Made by debias report {}.", debias_version)), "note");
  return page.html();
}

}  // namespace debias
