#include "debias/data/readers/column_values.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "debias/core/config.h"
#include "debias/data/readers/csv_file.h"
#include "debias/data/sample_table.h"

namespace debias {
namespace {

// `key` gives what a field is ordered by, nullopt where it is unknown.
template <class Key, class KeyOf, class NameOf>
CategoricalValues ordered(size_t count, const KeyOf& key, const NameOf& name) {
  std::map<Key, int64_t> places;
  std::map<Key, std::string> names;
  for (size_t i = 0; i < count; ++i) {
    const std::optional<Key> own = key(i);
    if (own && places.emplace(*own, 0).second) names.emplace(*own, name(i));
  }
  CategoricalValues result;
  for (auto& [own, place] : places) {
    place = std::ssize(result.names);
    result.names.push_back(names.at(own));
  }
  result.values.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const std::optional<Key> own = key(i);
    result.values.push_back(own ? places.at(*own) : kUnknown);
  }
  return result;
}

std::optional<int64_t> known_integer(std::string_view field) {
  const auto value = integer_of(field);
  return value == kUnknown ? std::nullopt : value;
}

void require_one_name_a_number(const ColumnFields& numbers, const ColumnFields& names) {
  std::map<int64_t, std::string_view> first;
  for (size_t i = 0; i < numbers.values.size(); ++i) {
    if (numbers.values[i].empty()) continue;
    const auto number = integer_of(numbers.values[i]);
    if (!number) {
      refuse_line(numbers.path, numbers.lines[i], fmt::format("column '{}': '{}' is not an integer", numbers.title, numbers.values[i]));
    }
    const auto found = first.emplace(*number, names.values[i]).first;
    if (found->second == names.values[i]) continue;
    refuse_line(numbers.path, numbers.lines[i],
                fmt::format("number {} of column '{}' is called '{}' and '{}'", *number, numbers.title, found->second, names.values[i]));
  }
}

}  // namespace

CategoricalValues categorical_values(const ColumnFields& column, SignsAlone signs) {
  if (signs == SignsAlone::kReject) refuse_signs(column);
  const bool named_signs = line_of_signs(column) != 0;
  const FieldKind kind = field_kind(column);
  const auto name = [&](size_t i) { return std::string(column.values[i]); };
  if (kind == FieldKind::kIntegers && !named_signs) {
    return ordered<int64_t>(
        column.values.size(), [&](size_t i) { return known_integer(column.values[i]); }, name);
  }
  const bool has_unknown = kind == FieldKind::kPaddedNames && !named_signs;
  const auto key = [&](size_t i) {
    const std::string_view field = column.values[i];
    const bool known = !field.empty() && (!has_unknown || known_integer(field));
    return known ? std::optional<std::string_view>(field) : std::nullopt;
  };
  return ordered<std::string_view>(column.values.size(), key, name);
}

CategoricalValues numbered_values(const ColumnFields& numbers, const ColumnFields& names) {
  require_one_name_a_number(numbers, names);
  const auto name = [&](size_t i) { return std::string(names.values[i].empty() ? numbers.values[i] : names.values[i]); };
  return ordered<int64_t>(
      numbers.values.size(), [&](size_t i) { return known_integer(numbers.values[i]); }, name);
}

std::vector<double> numeric_values(const ColumnFields& column) {
  std::vector<double> numbers;
  numbers.reserve(column.values.size());
  for (size_t i = 0; i < column.values.size(); ++i) {
    double value = std::numeric_limits<double>::quiet_NaN();
    const bool read = column.values[i].empty() || (parse_number(column.values[i], &value) && std::isfinite(value));
    if (!read) {
      refuse_line(column.path, column.lines[i],
                  fmt::format("numeric column '{}': '{}' is not a finite number", column.title, column.values[i]));
    }
    numbers.push_back(value);
  }
  return numbers;
}

}  // namespace debias
