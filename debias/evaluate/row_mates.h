// Rows of one group (SampleTable::group) in evaluation: images of one patient or burst. One says what the other is, so that neighbours and
// pairs leave group mates out, and intervals are over groups.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "debias/data/sample_table.h"

namespace debias {

// Numbers of groups over several sets, which number their own: groups of one name are one.
class GroupNumbers {
 public:
  // [size of `samples`], kUnknown for a sample of no group; empty where nothing says groups.
  std::vector<int64_t> of(const SampleTable& samples);
  // The same of these places.
  std::vector<int64_t> of(const SampleTable& samples, const std::vector<int64_t>& places);

 private:
  std::map<std::string, int64_t> numbers_;
};

// Rows of no group are groups of their own.
int64_t group_count(const std::vector<int64_t>& groups);

// The places of each group's rows, in the order of the first; a row of no group alone.
std::vector<std::vector<size_t>> rows_of_groups(const std::vector<int64_t>& groups);

bool are_mates(const std::vector<int64_t>& groups, size_t row, const std::vector<int64_t>& others, size_t other);

}  // namespace debias
