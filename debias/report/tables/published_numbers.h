// Published numbers of a table's settings: their recipes' `expected`, and notes where they do not match the numbers beside them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "debias/report/recipe_facts.h"
#include "debias/report/tables/seed_table.h"

namespace debias {

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
