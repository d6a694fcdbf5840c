// Rows of a table against each other: differences between settings, and what became of the published ones.
//
// Every difference is tested at 5 %, two-sided, as seed_difference() says, and its p-value adjusted by Holm over all tests of its list. The
// published difference is tested by itself, by Welch from mean, spread and number of runs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "debias/report/recipe_facts.h"
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

// Published numbers of a table's settings: their recipes' `expected`, and notes where they do not match the numbers beside them.

// Entries of its sweep's file as it is now, else of its first run, whose recipe has what the file said then.
std::vector<Published> expectations(const ComparedRuns& compared, const ComparedRow& row);

// Numbers of a metric, in the order of the file.
std::vector<Published> published_numbers(std::vector<Published> expected, const std::string& metric);

// Chooses among several that of the epoch, else that of the end of training, else that of the latest epoch.
std::optional<Published> published_at(const std::vector<Published>& numbers, int64_t epoch);

// New seeds of a sweep whose file has been corrected have other recipes than the first; and a recipe may have percents where shares are.
void note_other_expectations(const ComparedRuns& compared, std::vector<std::string>& notes);
void note_shares_above_one(SeedTable& table);

// Notes where our numbers and the published ones are of different epochs.
void note_published_epochs(SeedTable& table, const EpochChoice& read);

}  // namespace debias
