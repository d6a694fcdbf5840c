// Whose predictions a number evaluates: aligned_acc of kNN and aligned_acc of a classifier are different numbers.
#pragma once

#include <string>
#include <vector>

#include "debias/report/run_record.h"
#include "debias/results/predictions.h"  // IWYU pragma: export

namespace debias {

// "knn", "linear" or "classifier" of a metric (without its split) that can be of either; empty for one whose name includes it ("knn_acc1"),
// that evaluates no predictions, or if neither the file nor the recipe names it.
std::string prediction_source(const EvaluationRecord& record, const std::string& metric, const MetricTitles& titles);
// Source of the numbers in metrics.jsonl, from the recipe's `evaluate`.
std::string prediction_source(const RunRecord& run, const std::string& metric);

// Sources in the order of kPredictionsOf, then "", for a file that does not name whose predictions it evaluates.
std::vector<std::string> sources_in_order();

}  // namespace debias
