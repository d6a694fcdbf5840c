// Parts of a report over runs and sweeps besides the runs.
#pragma once

#include <string>
#include <vector>

#include "debias/core/progress.h"
#include "debias/evaluate/condition.h"
#include "debias/report/run_record.h"
#include "debias/report/tables/seed_table.h"

namespace debias {

// The data folders of the runs. Nothing may be written inside.
std::vector<std::string> data_roots(const std::vector<RunRecord>& runs);

// The tables of the sweeps among the paths; none if their runs name no metric to compare. A table that is rejected, because a metric is
// missing or runs are not comparable, becomes a note and a log line.
std::vector<SeedTable> sweep_tables(const std::vector<std::string>& paths, const ReadingProgram& program, Log& log);

// Conditions on a table of settings (`debias table --fail-if`).

// Conditions name mean.ROW, difference.A.over.B (also low, high and p_holm) and ordering.OUTCOME (also ordering.OUTCOME_holm). In labels of
// rows, characters other than letters, digits, '.' and '_' become '_'. Throws a failure that names the first value that meets a condition
// or is unknown, such as the interval of one seed. Usage error for a condition that names no value.
void require_no_condition(const SeedTable& table, const std::vector<Condition>& conditions);

}  // namespace debias
