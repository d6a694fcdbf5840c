// What a report over runs and sweeps is made of besides the runs.
#pragma once

#include <string>
#include <vector>

#include "debias/core/progress.h"
#include "debias/report/run_record.h"
#include "debias/report/tables/seed_table.h"

namespace debias {

// The folders that the runs' data sets are read from: nothing may be written inside.
std::vector<std::string> data_roots(const std::vector<RunRecord>& runs);

// Of the sweeps among the paths; none where their runs name no metric to compare. A table that is rejected, for a metric that no run has or
// for runs that do not compare, is a note, which `log` is told too.
std::vector<SeedTable> sweep_tables(const std::vector<std::string>& paths, const ReadingProgram& program, Log& log);

}  // namespace debias
