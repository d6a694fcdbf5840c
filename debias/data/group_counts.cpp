#include "debias/data/group_counts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace debias {

GroupCounts::GroupCounts(int64_t class_count, int64_t bias_count)
    : classes(class_count), biases(bias_count), count(static_cast<size_t>(classes * biases)), correct(count.size()) {}

GroupCounts::GroupCounts(const std::vector<std::vector<int64_t>>& table)
    : GroupCounts(std::ssize(table), table.empty() ? 0 : std::ssize(table.front())) {
  auto to = count.begin();
  for (const auto& of_class : table) to = std::copy(of_class.begin(), of_class.end(), to);
}

void GroupCounts::add(int64_t group, bool right) {
  if (group == kUnknown) return;
  ++count[static_cast<size_t>(group)];
  correct[static_cast<size_t>(group)] += right ? 1 : 0;
}

std::vector<int64_t> GroupCounts::of_classes() const {
  std::vector<int64_t> sums(static_cast<size_t>(classes));
  for (size_t g = 0; g < count.size(); ++g) sums[g / static_cast<size_t>(biases)] += count[g];
  return sums;
}

std::vector<int64_t> GroupCounts::of_biases() const {
  std::vector<int64_t> sums(static_cast<size_t>(biases));
  for (size_t g = 0; g < count.size(); ++g) sums[g % static_cast<size_t>(biases)] += count[g];
  return sums;
}

std::vector<int64_t> GroupCounts::majorities() const {
  std::vector<int64_t> of_class;
  for (int64_t y = 0; y < classes; ++y) {
    const auto begin = count.begin() + y * biases, end = begin + biases;
    const auto largest = std::max_element(begin, end);
    of_class.push_back(begin == end || *largest == 0 ? kUnknown : largest - begin);
  }
  return of_class;
}

int64_t GroupCounts::conflicting() const {
  int64_t samples = std::accumulate(count.begin(), count.end(), int64_t{0});
  const std::vector<int64_t> majority = majorities();
  for (int64_t y = 0; y < classes; ++y) {
    const int64_t own = group(y, majority[static_cast<size_t>(y)]);
    if (own != kUnknown) samples -= count[static_cast<size_t>(own)];
  }
  return samples;
}

std::vector<std::vector<int64_t>> GroupCounts::usual() const {
  constexpr double kDeviations = 3;
  const std::vector<int64_t> majority = majorities(), of_class = of_classes(), of_bias = of_biases();
  const auto all = static_cast<double>(std::accumulate(count.begin(), count.end(), int64_t{0}));
  std::vector<std::vector<int64_t>> usual(static_cast<size_t>(classes));
  for (int64_t y = 0; y < classes; ++y) {
    const int64_t most = majority[static_cast<size_t>(y)];
    if (most == kUnknown) continue;
    const auto speaks_for = [&](int64_t b, double deviations) {
      const double expected =
          static_cast<double>(of_class[static_cast<size_t>(y)]) * static_cast<double>(of_bias[static_cast<size_t>(b)]) / all;
      return static_cast<double>(count[static_cast<size_t>(group(y, b))]) > expected + deviations * std::sqrt(expected);
    };
    const bool several = speaks_for(most, 0);
    for (int64_t b = 0; b < biases; ++b) {
      if (b == most || (several && speaks_for(b, kDeviations))) usual[static_cast<size_t>(y)].push_back(b);
    }
  }
  return usual;
}

double GroupCounts::accuracy(int64_t group) const {
  const int64_t samples = count[static_cast<size_t>(group)];
  if (samples == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(correct[static_cast<size_t>(group)]) / static_cast<double>(samples);
}

GroupAccuracies GroupCounts::accuracies(const std::vector<bool>& counted) const {
  GroupAccuracies found{std::numeric_limits<double>::infinity(), 0, 0};
  for (size_t g = 0; g < count.size(); ++g) {
    if (!counted[g] || count[g] == 0) continue;
    const double own = accuracy(static_cast<int64_t>(g));
    found.worst = std::min(found.worst, own);
    found.mean += own;
    ++found.groups;
  }
  if (found.groups == 0) found.worst = std::numeric_limits<double>::quiet_NaN();
  found.mean /= static_cast<double>(found.groups);
  return found;
}

std::vector<int64_t> GroupCounts::pools(int64_t least) const {
  std::vector<int64_t> pools;
  int64_t next = 0, small = kUnknown;
  for (const int64_t samples : count) {
    if (samples == 0) {
      pools.push_back(kUnknown);
    } else if (samples < least && small != kUnknown) {
      pools.push_back(small);
    } else {
      if (samples < least) small = next;
      pools.push_back(next++);
    }
  }
  return pools;
}

}  // namespace debias
