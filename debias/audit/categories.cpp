#include "debias/audit/categories.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace debias {
namespace {

constexpr size_t kMostDistinct = 32;
constexpr int64_t kRuns = 16, kLeastRun = 10;

std::vector<double> sorted_finite(std::span<const double> numbers) {
  std::vector<double> sorted;
  for (const double value : numbers) {
    if (!std::isnan(value)) sorted.push_back(value);
  }
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

CategoryFeatures distinct_numbers(std::span<const double> numbers) {
  std::vector<std::string> texts;
  for (const double value : numbers) texts.push_back(std::isnan(value) ? "" : fmt::format("{}", value));
  return text_categories(texts);
}

}  // namespace

CategoryFeatures text_categories(const std::vector<std::string>& texts) {
  std::map<std::string_view, int64_t> rows;
  for (const std::string& text : texts) ++rows[text];
  std::map<std::string_view, int32_t> number;
  for (const auto& [text, count] : rows) {
    if (count >= kLeastRows) number.emplace(text, static_cast<int32_t>(number.size()));
  }
  const auto others = static_cast<int32_t>(number.size());
  CategoryFeatures features{{}, others + 1};
  for (const std::string& text : texts) {
    const auto found = number.find(text);
    features.values.push_back(found == number.end() ? others : found->second);
  }
  return features;
}

CategoryFeatures number_categories(std::span<const double> numbers) {
  const std::vector<double> sorted = sorted_finite(numbers);
  if (std::set<double>(sorted.begin(), sorted.end()).size() <= kMostDistinct) return distinct_numbers(numbers);
  const auto n = std::ssize(sorted);
  const int64_t runs = std::clamp<int64_t>(n / kLeastRun, 2, kRuns);
  std::vector<double> edges;  // the first number of each run but the first
  for (int64_t r = 1; r < runs; ++r) edges.push_back(sorted[static_cast<size_t>(n * r / runs)]);
  CategoryFeatures features{{}, static_cast<int32_t>(runs + 1)};
  for (const double value : numbers) {
    const auto run = std::upper_bound(edges.begin(), edges.end(), value) - edges.begin();
    features.values.push_back(std::isnan(value) ? static_cast<int32_t>(runs) : static_cast<int32_t>(run));
  }
  return features;
}

}  // namespace debias
