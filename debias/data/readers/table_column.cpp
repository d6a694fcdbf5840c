#include "debias/data/readers/table_column.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "debias/core/config.h"
#include "debias/data/readers/csv_table.h"
#include "debias/data/sample_table.h"

namespace debias {
namespace {

constexpr size_t kMostDigits = 18;

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

// The line of the first -1 of a column that has -1 and 1 alone; 0 for others.
int64_t line_of_signs(const ColumnFields& column) {
  bool ones = false;
  int64_t line = 0;
  for (size_t i = 0; i < column.values.size(); ++i) {
    if (column.values[i].empty()) continue;
    const int64_t value = integer_of(column.values[i]).value_or(0);
    if (value != 1 && value != kUnknown) return 0;
    ones = ones || value == 1;
    if (value == kUnknown && line == 0) line = column.lines[i];
  }
  return ones ? line : 0;
}

void refuse_signs(const ColumnFields& column) {
  const int64_t line = line_of_signs(column);
  if (line == 0) return;
  refuse_line(column.path, line,
              fmt::format("column '{}' has only -1 and 1, and -1 is unknown; write 0 and 1, or names, and leave unknown fields empty",
                          column.title));
}

}  // namespace

ColumnFields ColumnFields::selected(const std::vector<int64_t>& rows) const {
  ColumnFields fields{path, title, {}, {}};
  for (const int64_t row : rows) {
    fields.values.push_back(row == kUnknown ? "" : values[static_cast<size_t>(row)]);
    fields.lines.push_back(row == kUnknown ? 0 : lines[static_cast<size_t>(row)]);
  }
  return fields;
}

std::string_view without_blanks(std::string_view field) {
  const size_t first = field.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view() : field.substr(first, field.find_last_not_of(" \t") - first + 1);
}

bool is_missing_word(std::string_view field) {
  constexpr std::array<std::string_view, 13> kWords = {"nan",  "NaN", "-nan", "-NaN", "NA",   "N/A", "n/a",
                                                       "<NA>", "#NA", "#N/A", "null", "NULL", "None"};
  return std::ranges::find(kWords, field) != kWords.end();
}

std::string clear_missing_words(ColumnFields& column) {
  int64_t missing = 0;
  std::string word;
  for (std::string& field : column.values) {
    if (!is_missing_word(field)) continue;
    if (missing++ == 0) word = field;
    field.clear();
  }
  if (missing == 0) return "";
  return missing == 1 ? fmt::format("column '{}': 1 field, '{}', is read as unknown", column.title, word)
                      : fmt::format("column '{}': {} fields such as '{}' are read as unknown", column.title, missing, word);
}

std::optional<int64_t> integer_of(std::string_view field) {
  int64_t value = 0;
  if (field.size() > kMostDigits || !parse_integer(field, &value)) return std::nullopt;
  return value;
}

FieldKind field_kind(const ColumnFields& column) {
  bool known = false, printed = true;
  for (const std::string_view field : column.values) {
    if (field.empty()) continue;
    const auto value = integer_of(field);
    if (!value) return FieldKind::kNames;
    known = true;
    printed = printed && (fmt::format("{}", *value) == field || (*value > 0 && fmt::format("+{}", *value) == field));
  }
  if (!known) return FieldKind::kNames;
  return printed ? FieldKind::kIntegers : FieldKind::kPaddedNames;
}

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
