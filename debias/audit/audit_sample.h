// The rows that an audit uses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace debias {

constexpr int64_t kLeastOfClass = 20;  // rows; smaller classes are left out
constexpr int64_t kMostClasses = 100;  // the largest ones; the time of the permutation test is proportional to their number
constexpr int64_t kMostRows = 6'000;   // a share of a class is known to within a few points

struct AuditSample {
  std::vector<std::string> classes;
  std::vector<int64_t> rows;       // shuffled without regard to labels
  std::vector<int32_t> labels;     // of `rows`, indices into `classes`
  std::vector<std::string> notes;  // one line each: classes and rows that were left out
};

// `labels[i]` is an index into `classes`, or -1 for unknown, which is left out. Above kMostRows, large classes are reduced to equal numbers
// of rows. Data error, beginning with `what`, if fewer than two classes have kLeastOfClass rows.
AuditSample audit_sample(const std::string& what, const std::vector<std::string>& classes, const std::vector<int64_t>& labels,
                         uint64_t seed);

}  // namespace debias
