// Checks that the numbers of a table are comparable: all runs evaluated on the same data, and those of a row, whose mean is taken,
// the same in everything except their seed.
#pragma once

#include <string>
#include <vector>

#include "debias/report/compared_runs.h"
#include "debias/report/tables/table_reading.h"

namespace debias {

struct ShownNumber {
  const RunRecord* run = nullptr;
  std::string metric;
};

// Throws a usage error if two of the runs were evaluated on other data, or trained on another data set: their numbers measure different
// things. So do numbers that depend on the batch (evaluated_batch) and have another. Data are compared by their fingerprints (run_files.h),
// without these by the recipe; those that follow the run's seed only between runs of one seed (run_column.h).
void require_same_data(const std::vector<ShownNumber>& numbers, const TableReading& reading);

// A usage error where two runs of a row, which have the metric, saw other images in training, differ in an option that the numbers depend
// on, or were evaluated by other options.
void require_row_alike(const ComparedRuns& compared, const ComparedRow& row, const std::string& metric, const TableReading& reading);

// Notes on what the table hides: run folders of different settings that were trained on other data, which may be compared (the rows
// of a sweep say it themselves), runs that resumed on changed data, and seeds that share one draw of the data.
std::vector<std::string> data_notes(const ComparedRuns& compared);

// True if two evaluations had the same changes of their recipes and, if one protocol made both, the same options of it
// and alignment, as far as both know them and the metric depends on them. Null: training's own, which changes nothing.
bool are_evaluated_alike(const EvaluationRecord* a, const EvaluationRecord* b, const std::string& metric);

// The data that `debias eval` was given in place of the run's own for a metric, or has accepted as changed; empty where it evaluated the
// run's, as training (null) does.
std::string other_data(const RunRecord& run, const EvaluationRecord* evaluation, const std::string& metric);

// `train.batch_size` of a run, if the metric depends on it (Metric::of_batch): neighbours are searched among the sentences of a batch, and
// a larger one has more to mistake for them. "" for other metrics.
std::string evaluated_batch(const RunRecord& run, const std::string& metric);

}  // namespace debias
