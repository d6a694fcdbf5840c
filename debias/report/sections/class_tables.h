// Tables of classes: accuracy of each, and which was taken for which.
#pragma once

#include <string>
#include <vector>

#include "debias/report/run_column.h"
#include "debias/report/sections/evaluation_figures.h"

namespace debias {

// The sets of which some run has class tables, test before valid, own data first.
std::vector<EvaluatedSet> class_sets(const std::vector<RunColumn>& columns);

// Whose predictions to show of a set: one source that all columns have, a classifier before a probe before kNN; else all that occur.
std::vector<std::string> class_sources(const std::vector<RunColumn>& columns, const EvaluatedSet& set);

const ClassTable* classes_of(const RunRecord& run, const EvaluatedSet& set, const std::string& source);  // null where there is none

// Accuracy by class, a column of the table for each of `columns`; of several seeds the mean, with half of its interval.
Table class_table(const std::vector<RunColumn>& columns, const EvaluatedSet& set, const std::string& source);

Table confusion_matrix(const ClassTable& classes, const std::string& caption);  // that has one

}  // namespace debias
