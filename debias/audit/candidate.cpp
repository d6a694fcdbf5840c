#include "debias/audit/candidate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "debias/core/config.h"
#include "debias/data/readers/csv_column.h"

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

namespace {

bool is_unknown(const std::string& value) { return value.empty() || is_missing_word(value); }

bool all_numbers(const std::vector<std::string>& values) {
  double number = 0;
  return std::all_of(values.begin(), values.end(),
                     [&](const std::string& value) { return is_unknown(value) || parse_number(value, &number); });
}

// Repeated integers.
bool are_identifiers(const std::vector<double>& numbers) {
  std::set<double> distinct;
  int64_t known = 0;
  for (const double number : numbers) {
    if (std::isnan(number)) continue;
    if (number != std::floor(number)) return false;
    distinct.insert(number);
    ++known;
  }
  return std::ssize(distinct) * kLeastRows <= known;
}

}  // namespace

CategoryFeatures column_categories(const std::vector<std::string>& values) {
  std::vector<std::string> texts = values;
  for (std::string& text : texts) {
    if (is_missing_word(text)) text.clear();
  }
  if (!all_numbers(texts)) return text_categories(texts);
  std::vector<double> numbers;
  for (const std::string& text : texts) {
    double number = std::numeric_limits<double>::quiet_NaN();
    if (!text.empty()) parse_number(text, &number);
    numbers.push_back(number);
  }
  return are_identifiers(numbers) ? text_categories(texts) : number_categories(numbers);
}

std::string unusable_column(const std::vector<std::string>& values) {
  const std::set<std::string_view> distinct(values.begin(), values.end());
  if (distinct.size() < 2) return fmt::format("has a single value ('{}')", distinct.empty() ? "" : *distinct.begin());
  if (2 * distinct.size() > values.size() && !all_numbers(values)) return "has another value in nearly every row, as an identifier has";
  return "";
}

}  // namespace debias
