// The groups of a feature table: its classes by the values of its bias columns.
//
// Several bias columns are combined: their values in a row are one joint value, "red, left". A numeric column is split into thirds of its
// known values, "age <= 31", "age <= 54", "age > 54". A row with an unknown value in any column belongs to no group.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/features/table_rows.h"

namespace debias {

struct JointBias {
  std::string name;                // "bias", or "water, camera" of several columns
  std::vector<std::string> names;  // of the joint values that rows have
  std::vector<int64_t> values;     // [n], a place in `names`, or kUnknown
};

// `rows` must have a bias column.
JointBias joint_bias(const TableRows& rows);

struct BiasGroups {
  int64_t classes = 0, biases = 0;
  std::vector<int64_t> of_row;    // [n]: label * biases + joint value, or kUnknown
  std::vector<int64_t> count;     // [classes * biases], over the rows counted
  std::vector<int64_t> majority;  // [classes]: the most frequent joint value, the lowest of equally frequent ones; kUnknown without any

  bool is_conflicting(int64_t group) const { return group % biases != majority[static_cast<size_t>(group / biases)]; }
};

// Groups all rows; counts and majorities are over the rows `counted`.
BiasGroups bias_groups(const TableRows& rows, const JointBias& bias, const std::vector<int64_t>& counted);

// Cramer's V of class and joint value over the groups' counts, in [0, 1]; 0 if either has a single value.
double cramers_v(const BiasGroups& groups);

}  // namespace debias
