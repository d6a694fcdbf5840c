// A report on runs: one page, or the same numbers for the terminal and for programs. Nothing is computed here; what the run folders hold
// is shown, and what they lack is said, with the command that adds it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

#include "debias/report/run_record.h"

namespace debias {

// Self-contained HTML: key numbers, what differs between the runs, curves, groups, similarities, maps, neighbours, recipes and versions.
// Thumbnails and maps are kept to a budget, so that a page of some runs stays below 5 MB. The same folders give the same bytes.
std::string run_report_html(const std::vector<RunRecord>& runs, const std::string& debias_version);

// The key numbers as a table, a column for each run, and what there is to note.
std::string run_report_text(const std::vector<RunRecord>& runs);

// {"runs": [{"path", "label", "name", "seed", "epochs", "epochs_done", "finished", "environment", "config", "metrics": {NAME: {"value",
// "low", "high", "source"}}, "notes"}]}; numbers on another data set have "on DATA: " before their name. Undefined values are null.
nlohmann::ordered_json run_report_json(const std::vector<RunRecord>& runs);

}  // namespace debias
