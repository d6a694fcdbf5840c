#include "debias/report/sections/run_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "debias/report/sections/first_screen.h"
#include "debias/report/sections/report_sections.h"

namespace debias {

ReportData::ReportData(const std::vector<RunRecord>& all)
    : runs(all),
      columns(run_columns(all)),
      shown(shown_runs(columns)),
      rows(key_numbers(columns)),
      has_images(std::ranges::any_of(all, &RunRecord::of_images)) {}

std::string run_report_html(const std::vector<RunRecord>& runs, const std::string& debias_version, const std::vector<SeedTable>& tables) {
  const ReportData data(runs);
  Page page(first_screen(data, {}).title);
  page.fold_sections();
  add_first_screen(page, data);
  add_notes(page, data);
  add_key_numbers(page, data);
  if (data.has_images) add_verdict(page, data);
  for (const auto& table : tables) add_comparison(page, table);
  for (const auto add : {add_further_numbers, add_differences, add_curves, add_videos}) add(page, data);
  if (data.has_images) {
    for (const auto add : {add_groups, add_classes, add_similarities, add_maps, add_neighbours}) add(page, data);
  }
  for (const auto add : {add_nearest_texts, add_expected, add_recipes}) add(page, data);
  page.close_section();
  page.paragraph(plain(fmt::format("Made by debias report {}.", debias_version)), "note");
  return page.html();
}

}  // namespace debias
