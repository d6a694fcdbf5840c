// Rows of a table against each other: differences between settings, and what became of the published ones.
//
// Every difference is tested at 5 %, two-sided, as seed_difference() says, and its p-value adjusted by Holm over all tests of its list. The
// published difference is tested by itself, by Welch from mean, spread and number of runs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "debias/report/tables/seed_table.h"

namespace debias {

// Differences of each row to `against`, or if that is "" to the first row it is compared with: variants at one point of the grid; without
// variants all of a task that agree in the grid's keys of the section `data`. A usage error where no row has that label.
std::vector<TableDifference> differences_of(const std::vector<TableRow>& rows, const std::string& against);

// Orderings of all pairs of rows that are compared and whose published numbers differ.
std::vector<TableDifference> ordering_of(const std::vector<TableRow>& rows);

// Number of differences with each outcome.
using OutcomeCounts = std::array<std::pair<Outcome, int64_t>, 4>;
OutcomeCounts outcome_counts(const std::vector<TableDifference>& ordering, Outcome PublishedDifference::*outcome);

}  // namespace debias
