// Tables of groups: accuracy by class and bias label, and rates by bias label.
#pragma once

#include <string>

#include "debias/report/sections/evaluation_figures.h"

namespace debias {

// Accuracy of each group, above the number of its images.
Table group_table(const EvaluationRecord& record, const EvaluatedSet& set, const std::string& caption);

// By bias label: images, error rate, and the selection rate of each class.
Table rates_table(const GroupTable& groups, const std::string& caption);

}  // namespace debias
