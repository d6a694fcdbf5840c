#include "debias/audit/column_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "debias/audit/categories.h"
#include "debias/core/config.h"
#include "debias/data/readers/table_column.h"

namespace debias {
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
