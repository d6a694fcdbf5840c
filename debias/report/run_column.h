// The columns of a report: runs that differ in their seed alone are one column, with the mean over their seeds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/report/run_record.h"

namespace debias {

struct RunColumn {
  std::string label;                   // of one run its own; of several what their labels share
  std::vector<const RunRecord*> runs;  // by seed, at least one; they must outlive the column

  bool has_seeds() const { return runs.size() > 1; }
  const RunRecord& shown() const { return *runs.front(); }  // for what is of a single run: groups, maps, neighbours
  const MetricTitles& titles() const { return *shown().titles; }
  std::string title() const;  // "infonce (3 seeds)"
};

// In the order of the runs. One column: the recipes are the same except for `seed`, `output`, `name` and `expected`, as many epochs are
// done, and the data sets are the same according to data/sets.json. A seed that is there twice, a repetition and no further seed, begins
// another column.
std::vector<RunColumn> run_columns(const std::vector<RunRecord>& runs);

// A column for each run.
std::vector<RunColumn> single_columns(const std::vector<RunRecord>& runs);

// The run of each column that is shown, labelled "infonce, seed 1" where there are others.
std::vector<RunRecord> shown_runs(const std::vector<RunColumn>& columns);

}  // namespace debias
