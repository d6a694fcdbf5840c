// Parts of a report over runs and sweeps besides the runs.
#pragma once

#include <string>
#include <vector>

#include "debias/core/progress.h"
#include "debias/report/run_record.h"
#include "debias/report/tables/seed_table.h"

namespace debias {

// The folders that the runs' data sets are read from: nothing may be written inside.
std::vector<std::string> data_roots(const std::vector<RunRecord>& runs);

// Tables of the sweeps among the paths; none if their runs name no metric to compare. A table that is rejected, for a missing metric or
// for runs that are not comparable, is a note, which is also logged.
std::vector<SeedTable> sweep_tables(const std::vector<std::string>& paths, const ReadingProgram& program, Log& log);

}  // namespace debias
