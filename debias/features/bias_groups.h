// The groups of a feature table: its classes by the values of its bias columns.
//
// Several bias columns are combined: their values in a row are one joint value, "red, left". A numeric column is split into thirds of its
// known values, "age <= 31", "age <= 54", "age > 54". A row with an unknown value in any column belongs to no group.
//
// A column that is not associated with the class would split groups needlessly, and make half of the rows "conflicting" by chance.
// grouping_columns() leaves it out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/data/group_counts.h"
#include "debias/features/table_rows.h"

namespace debias {

struct JointBias {
  std::string name;                         // "bias", or "water, camera" of several columns
  std::vector<std::string> names;           // joint values that occur
  std::vector<int64_t> values;              // [n], an index into `names`, or kUnknown
  std::vector<std::vector<int64_t>> parts;  // [names][columns]: the value of each column that a joint one consists of
};

// The joint value of the bias columns of `rows`, which must have one, or of `columns`, indices into rows.columns.
JointBias joint_bias(const TableRows& rows);
JointBias joint_bias(const TableRows& rows, const std::vector<size_t>& columns);

constexpr double kAssociatedColumn = 0.1;  // Cramer's V
constexpr double kRepeatedShare = 0.6;     // of the rows that contradict the earlier columns

// The bias columns whose Cramer's V with the class over the rows `counted` is at least kAssociatedColumn, corrected for its expectation
// under independence (Bergsma 2013, https://doi.org/10.1016/j.jkss.2012.10.002). If none is, all of them. The most associated column comes
// first. Another one is used if it is associated with the class among rows of the same values in the earlier ones, and if it does not follow
// these in most of the rows that contradict them. Otherwise it repeats them, and rows in which it happens to differ would be conflicting.
struct GroupingColumns {
  std::vector<size_t> used;          // indices into rows.columns
  std::vector<std::string> remarks;  // one line per column that is left out
};
GroupingColumns grouping_columns(const TableRows& rows, const std::vector<int64_t>& counted);

struct BiasGroups : GroupCounts {  // over the rows counted; bias labels are joint values
  std::vector<int64_t> of_row;     // [n]: the group, or kUnknown
  std::vector<bool> is_usual;      // [groups]: of usual()
  std::vector<bool> is_seen;       // [biases]: a row counted has it; else it is neither aligned nor conflicting

  bool has_side(int64_t group) const { return is_seen[static_cast<size_t>(group % biases)]; }
  bool is_conflicting(int64_t group) const { return has_side(group) && !is_usual[static_cast<size_t>(group)]; }
};

// Groups all rows; counts and usual bias labels are of the rows `counted`.
BiasGroups bias_groups(const TableRows& rows, const JointBias& bias, const std::vector<int64_t>& counted);

// Cramer's V of class and joint value over the groups' counts, in [0, 1]; 0 if either has a single value. `corrected`: for its expectation
// under independence.
double cramers_v(const GroupCounts& groups, bool corrected = false);

// The p-value of a chi-squared test that class and bias label are independent (Wilson and Hilferty 1931); 1 if either has a single value.
double independence_p(const GroupCounts& groups);

}  // namespace debias
