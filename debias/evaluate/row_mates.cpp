#include "debias/evaluate/row_mates.h"

#include <numeric>

namespace debias {

std::vector<int64_t> GroupNumbers::of(const SampleTable& samples) {
  std::vector<int64_t> places(static_cast<size_t>(samples.size()));
  std::iota(places.begin(), places.end(), int64_t{0});
  return of(samples, places);
}

std::vector<int64_t> GroupNumbers::of(const SampleTable& samples, const std::vector<int64_t>& places) {
  const std::vector<std::string>& names = samples.info().group_names;
  std::vector<int64_t> groups;
  for (size_t i = 0; i < places.size() && !names.empty(); ++i) {
    const int64_t own = samples.group(places[i]);
    groups.push_back(own == kUnknown ? kUnknown
                                     : numbers_.try_emplace(names[static_cast<size_t>(own)], std::ssize(numbers_)).first->second);
  }
  return groups;
}

int64_t group_count(const std::vector<int64_t>& groups) { return std::ssize(rows_of_groups(groups)); }

std::vector<std::vector<size_t>> rows_of_groups(const std::vector<int64_t>& groups) {
  std::map<int64_t, size_t> place;
  std::vector<std::vector<size_t>> rows;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i] == kUnknown || place.try_emplace(groups[i], rows.size()).second) {
      rows.push_back({i});
    } else {
      rows[place.at(groups[i])].push_back(i);
    }
  }
  return rows;
}

bool are_mates(const std::vector<int64_t>& groups, size_t row, const std::vector<int64_t>& others, size_t other) {
  return !groups.empty() && !others.empty() && groups[row] != kUnknown && groups[row] == others[other];
}

}  // namespace debias
