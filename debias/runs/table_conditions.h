// Conditions on a table of settings (`debias table --fail-if`).
#pragma once

#include <vector>

#include "debias/evaluate/condition.h"
#include "debias/report/tables/seed_table.h"

namespace debias {

// Conditions name mean.ROW, difference.A.over.B (likewise low, high and p_holm) and ordering.OUTCOME (and ordering.OUTCOME_holm); in labels
// of rows other characters than letters, digits, '.' and '_' are '_'. Throws a failure that names the first value for which one holds, or
// which is unknown, such as the interval of one seed; a usage error for a condition on nothing.
void require_no_condition(const SeedTable& table, const std::vector<Condition>& conditions);

}  // namespace debias
