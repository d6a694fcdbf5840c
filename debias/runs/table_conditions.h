// Conditions on a table of settings (`debias table --fail-if`).
#pragma once

#include <vector>

#include "debias/evaluate/condition.h"
#include "debias/report/tables/seed_table.h"

namespace debias {

// Conditions name mean.ROW, difference.A.over.B (also low, high and p_holm) and ordering.OUTCOME (also ordering.OUTCOME_holm). In labels of
// rows, characters other than letters, digits, '.' and '_' become '_'. Throws a failure that names the first value that meets a condition
// or is unknown, such as the interval of one seed. Usage error for a condition that names no value.
void require_no_condition(const SeedTable& table, const std::vector<Condition>& conditions);

}  // namespace debias
