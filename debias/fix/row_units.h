// What the rows of a feature table are of: the values of its group columns, and copies among the training rows, which belong together
// whether a column says so or not.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "debias/data/row_groups.h"
#include "debias/features/feature_table.h"

namespace debias {

// Pairs of rows (places in `places`) that are copies of one another: their cosine is at least 0.99 after each dimension has mean 0 and
// deviation 1. They are found by signs along 128 random directions, so that not every pair is compared. Pairs are of exact copies alone
// where rows of different classes are as close, or where a fifth of the rows would be one group. Deterministic.
std::vector<std::pair<size_t, size_t>> copies_among(const FeatureVectors& vectors, const std::vector<int64_t>& places,
                                                    const std::vector<int64_t>& labels);

// By the table's group columns; without any, every row is its own.
RowGroups column_groups(const TableRows& rows);

// A note for each of valid and test that has copies of training rows which are not of one group with them.
std::vector<std::string> notes_on_shared_copies(const FeatureTable& table, const RowGroups& groups);

struct RowUnits {
  RowGroups groups;                // over all rows of the table
  std::vector<std::string> notes;  // one line each
};

// `drawn`: training rows that folds are made of. Data error if the group columns leave a class in a single group of the training rows. A
// column that was not asked for, but is titled `group`, is not used in that case.
RowUnits row_units(const FeatureTable& table, const std::vector<int64_t>& training, const std::vector<int64_t>& drawn, bool is_asked);

}  // namespace debias
