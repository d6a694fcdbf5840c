// A report on runs: one page, or the same numbers for the terminal and for programs. No metric is computed here: what the run folders hold
// is shown, runs that differ in their seed alone as one column with mean and interval, and what they lack is said, with the command that
// adds it. It begins with one verdict, one figure and one command (first_screen.h).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "debias/core/text_style.h"
#include "debias/report/run_record.h"
#include "debias/report/tables/seed_table.h"

namespace debias {

// Self-contained HTML: verdict, key numbers, what differs between the runs, curves, groups, similarities, maps, neighbours, recipes and
// versions. Thumbnails and maps are kept to a budget, so that a page stays below 2 MB. The same folders give the same bytes.
// `tables`: of sweeps that the runs are of, after the verdict.
std::string run_report_html(const std::vector<RunRecord>& runs, const std::string& debias_version,
                            const std::vector<SeedTable>& tables = {});

// The verdict of all, bars where the style has them, two sentences of each run and comparison, and the next command, in at most 14 lines of
// a terminal of `width` columns; verbose: with details, the numbers as a table, and what there is to note.
std::string run_report_text(const std::vector<RunRecord>& runs, const TextStyle& style, size_t width = 1 << 20);

// {"verdict": {"title", "words", "command", "minutes", "figure": {"title", "chance", "rows": [{"runs", "best", "conflicting": {"value", "low",
// "high"}, "aligned" (or "value" alone)}]}, "shortcut": [{"runs", "finding", "head", "words", "details", "difference", "size", "low", "high", "over", "worst_group", "sign_of_shortcut",
// "command", "minutes"}], "comparisons": [{"result", "head", "words", "details", the difference likewise, "p", "p_holm", "tests", "command", "minutes"}],
// "note"},
// "runs": [{"path", "label", "name", "seed", "epochs", "epochs_done", "finished", "environment", "config", "metrics": {NAME: {"value",
// "low", "high", "predictions", "source"}}, "notes"}], "columns": [{"label", "runs": [PATH], "metrics": the same, with "half_width" and
// "seeds" where there are several}]}; numbers on another data set have "on DATA: " before their name; where several sources have a metric,
// all but that of `groups` have " by SOURCE" behind it. Undefined values are null.
nlohmann::ordered_json run_report_json(const std::vector<RunRecord>& runs);

}  // namespace debias
