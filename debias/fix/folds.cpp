#include "debias/fix/folds.h"

#include <algorithm>
#include <map>

#include "debias/core/philox.h"

namespace debias {
namespace {

// The largest number c for which sum min(size, c) is at most `most`; at least 1.
int64_t largest_share(const std::map<int64_t, std::vector<int64_t>>& strata, int64_t most) {
  std::vector<int64_t> sizes;
  for (const auto& [stratum, members] : strata) sizes.push_back(std::ssize(members));
  std::sort(sizes.begin(), sizes.end());
  int64_t left = most;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t share = left / static_cast<int64_t>(sizes.size() - i);
    if (sizes[i] > share) return std::max<int64_t>(1, share);
    left -= sizes[i];
  }
  return sizes.empty() ? 1 : sizes.back();
}

}  // namespace

FoldRows fold_rows(const std::vector<int64_t>& strata, uint64_t seed, int64_t most) {
  std::map<int64_t, std::vector<int64_t>> members;
  for (size_t i = 0; i < strata.size(); ++i) members[strata[i]].push_back(static_cast<int64_t>(i));
  const int64_t share = largest_share(members, most);
  std::vector<std::vector<std::pair<int64_t, double>>> folds(kFolds);
  int64_t next = 0;  // continues from stratum to stratum, so that the folds stay equally large
  for (const auto& [stratum, own] : members) {
    const std::vector<int64_t> order =
        permutation(std::ssize(own), {.domain = RngDomain::kEvaluate, .seed = seed, .sample = static_cast<uint64_t>(own.front())});
    const int64_t taken = std::min(share, std::ssize(own));
    const double importance = static_cast<double>(own.size()) / static_cast<double>(taken);
    for (int64_t i = 0; i < taken; ++i) {
      folds[static_cast<size_t>(next++ % kFolds)].emplace_back(own[static_cast<size_t>(order[static_cast<size_t>(i)])], importance);
    }
  }
  FoldRows rows;
  for (auto& fold : folds) {
    std::sort(fold.begin(), fold.end());
    rows.begins.push_back(rows.size());
    for (const auto& [place, importance] : fold) {
      rows.places.push_back(place);
      rows.importance.push_back(importance);
    }
  }
  rows.begins.push_back(rows.size());
  return rows;
}

}  // namespace debias
