#include "debias/audit/column_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "debias/audit/categories.h"
#include "debias/core/config.h"

namespace debias {
namespace {

bool all_numbers(const std::vector<std::string>& values) {
  double number = 0;
  return std::all_of(values.begin(), values.end(), [&](const std::string& value) { return value.empty() || parse_number(value, &number); });
}

}  // namespace

CategoryFeatures column_categories(const std::vector<std::string>& values) {
  if (!all_numbers(values)) return text_categories(values);
  std::vector<double> numbers;
  for (const std::string& value : values) {
    double number = std::numeric_limits<double>::quiet_NaN();
    if (!value.empty()) parse_number(value, &number);
    numbers.push_back(number);
  }
  return number_categories(numbers);
}

std::string unusable_column(const std::vector<std::string>& values) {
  const std::set<std::string_view> distinct(values.begin(), values.end());
  if (distinct.size() < 2) return fmt::format("has a single value ('{}')", distinct.empty() ? "" : *distinct.begin());
  if (2 * distinct.size() > values.size() && !all_numbers(values)) return "has another value in nearly every row, as an identifier has";
  return "";
}

}  // namespace debias
