// Rows of a table against each other: differences between settings, and whether the published orderings hold.
#pragma once

#include <string>
#include <vector>

#include "debias/report/seed_table.h"

namespace debias {

// Of each row to `against`, or where that is "" to the first row that it is compared with: variants at one point of the grid; without
// variants all of a task that agree in the grid's keys of the section `data`. A usage error where no row has that label.
std::vector<TableDifference> differences_of(const std::vector<TableRow>& rows, const std::string& against);

// Of all pairs of rows that are compared and whose published numbers differ.
std::vector<TableOrdering> ordering_of(const std::vector<TableRow>& rows);

}  // namespace debias
