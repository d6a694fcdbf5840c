// The sections of the page about runs, in its order. Each adds its heading and what the run folders hold for it.
#pragma once

#include <string>
#include <vector>

#include "debias/report/pages/page.h"
#include "debias/report/sections/missing_parts.h"
#include "debias/report/tables/key_numbers.h"
#include "debias/report/tables/seed_table.h"

namespace debias {

struct ReportData {
  explicit ReportData(const std::vector<RunRecord>& all);

  const std::vector<RunRecord>& runs;
  std::vector<RunColumn> columns;
  std::vector<RunRecord> shown;  // one run of each column, for what is not a single number
  std::vector<NumberRow> rows;
  bool has_images = false;  // else nothing was evaluated that has classes or bias labels
};

// Accuracy by class and bias label of a column's shown run, else that by class of all; nothing where there is neither.
Html groups_or_classes(const ReportData& data, size_t column);

void add_notes(Page& page, const ReportData& data);       // what was found amiss
void add_verdict(Page& page, const ReportData& data);     // of each run and comparison, whole
void add_comparison(Page& page, const SeedTable& table);  // a sweep's settings, and curves over its grid
void add_key_numbers(Page& page, const ReportData& data);
void add_further_numbers(Page& page, const ReportData& data);
void add_differences(Page& page, const ReportData& data);
void add_curves(Page& page, const ReportData& data);
void add_videos(Page& page, const ReportData& data);  // nothing where no run is of an agent
void add_groups(Page& page, const ReportData& data);
void add_classes(Page& page, const ReportData& data);
void add_similarities(Page& page, const ReportData& data);
void add_maps(Page& page, const ReportData& data);
void add_neighbours(Page& page, const ReportData& data);
void add_nearest_texts(Page& page, const ReportData& data);  // nothing where no run is on sentences
void add_expected(Page& page, const ReportData& data);
void add_recipes(Page& page, const ReportData& data);

// One line on what runs lack, with the commands that add it; nothing where they lack nothing.
void add_missing(Page& page, const std::vector<RunRecord>& runs, Part part);

}  // namespace debias
