// Whose predictions a number judges: aligned_acc of kNN and aligned_acc of a classifier are different numbers.
#pragma once

#include <string>

#include "debias/report/run_record.h"

namespace debias {

// "knn", "linear" or "classifier" of a metric (without its split) that can be of either; empty for one whose name says it ("knn_acc1"),
// that judges no predictions, or of which neither the file nor the recipe says it.
std::string prediction_source(const EvaluationRecord& record, const std::string& metric);
// Of what training wrote into metrics.jsonl, from the recipe's `evaluate`.
std::string prediction_source(const RunRecord& run, const std::string& metric);

// "kNN", "linear probe", "classifier".
std::string source_title(const std::string& source);

}  // namespace debias
