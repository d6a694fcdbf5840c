// Whether the numbers of a table may stand beside each other: all runs judged on the same data, and those of a row, whose mean is taken,
// alike in everything but their seed.
#pragma once

#include <string>
#include <vector>

#include "debias/report/compared_runs.h"
#include "debias/report/table_reading.h"

namespace debias {

// A usage error where two of the runs were judged on other data, or trained on another data set: what their numbers are of is not the same.
// So are numbers that depend on the batch (judged_batch) and have another. Data are compared by their fingerprints (data_sets.h), without
// these by the recipe.
void require_same_data(const ComparedRuns& compared, const std::string& metric);

// A usage error where two runs of a row, which have the metric, saw other images in training, differ in an option that the numbers depend
// on, or were judged by other options.
void require_rows_alike(const ComparedRuns& compared, const std::string& metric, const TableReading& reading);

// Where run folders of different settings were trained on other data, which may be what is compared: a line that says so. The rows of a
// sweep say it themselves.
std::vector<std::string> training_data_notes(const ComparedRuns& compared);

// The first option of a protocol that two judgements, which both know it, were made with otherwise, but for its seed; "" where there is none.
std::string differing_option(const Json& a, const Json& b);

// `train.batch_size` of a run, where it decides what the metric is of: neighbours are sought among the sentences of a batch, and a larger
// one has more to mistake for them. "" of other metrics.
std::string judged_batch(const RunRecord& run, const std::string& metric);

}  // namespace debias
