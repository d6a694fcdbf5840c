#include "debias/audit/running_numbers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "debias/audit/categories.h"

namespace debias {
namespace {

int64_t distinct(const std::vector<double>& sorted) { return std::ssize(std::set<double>(sorted.begin(), sorted.end())); }

// The largest distance between the distribution of `sorted` and the uniform one.
double distance_from_uniform(std::span<const double> sorted, double first, double last) {
  const auto n = static_cast<double>(sorted.size());
  double largest = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const double share = (sorted[i] - first + 0.5) / (last - first + 1);
    largest = std::max({largest, std::abs(share - static_cast<double>(i) / n), std::abs(share - static_cast<double>(i + 1) / n)});
  }
  return largest;
}

}  // namespace

bool counts_by_class(std::span<const double> numbers, std::span<const int32_t> labels) {
  constexpr double kCritical = 1.95;
  std::map<int32_t, std::vector<double>> of_class;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (!std::isnan(numbers[i])) of_class[labels[i]].push_back(numbers[i]);
  }
  double first = INFINITY;
  for (auto& [label, own] : of_class) {
    std::ranges::sort(own);
    if (distinct(own) * kLeastRows <= std::ssize(own)) return false;
    first = std::min(first, own.front());
  }
  return !of_class.empty() && std::ranges::all_of(of_class, [&](const auto& entry) {
    const auto count = static_cast<double>(distinct(entry.second));
    return distance_from_uniform(entry.second, first, entry.second.back()) * std::sqrt(count) < kCritical;
  });
}

std::vector<double> class_blocks(std::span<const double> numbers, std::span<const int32_t> labels) {
  std::vector<std::pair<double, int32_t>> rows;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (std::isnan(numbers[i])) return {};
    rows.emplace_back(numbers[i], labels[i]);
  }
  std::ranges::sort(rows);
  std::vector<double> starts;
  for (size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    while (end < rows.size() && rows[end].second == rows[begin].second) ++end;
    if (static_cast<int64_t>(end - begin) < kLeastRows) return {};
    starts.push_back(rows[begin].first);
  }
  return starts;
}

}  // namespace debias
