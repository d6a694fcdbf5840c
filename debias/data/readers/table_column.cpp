#include "debias/data/readers/table_column.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "debias/core/config.h"
#include "debias/core/normal_form.h"
#include "debias/data/readers/csv_table.h"
#include "debias/data/sample_table.h"

namespace debias {
namespace {

constexpr size_t kMostDigits = 18;
constexpr int64_t kIgnored = 255, kFarBelow = 254;  // segmentation masks mark what is not to be counted by 255

std::string counted_fields(int64_t fields) { return fields == 1 ? "1 field" : fmt::format("{} fields", fields); }

// "1 field, 'nan', is" or "2 fields such as 'nan' are".
std::string fields_such_as(int64_t fields, std::string_view first) {
  return fields == 1 ? fmt::format("1 field, '{}', is", first) : fmt::format("{} such as '{}' are", counted_fields(fields), first);
}

std::string_view without_zeros(std::string_view field) {
  const size_t point = field.find('.');
  const bool zeros =
      point != std::string_view::npos && point + 1 < field.size() && field.find_first_not_of('0', point + 1) == std::string_view::npos;
  return zeros ? field.substr(0, point) : field;
}

bool is_printed(int64_t value, std::string_view field) {
  const std::string text = std::to_string(value);
  return field == text || (value > 0 && field.starts_with('+') && field.substr(1) == text);
}

// `key` gives what a field is ordered by, nullopt where it is unknown.
template <class Key, class KeyOf, class NameOf>
CategoricalValues ordered(ValueKind kind, size_t count, const KeyOf& key, const NameOf& name) {
  std::map<Key, int64_t> places;
  std::map<Key, std::string> names;
  for (size_t i = 0; i < count; ++i) {
    const std::optional<Key> own = key(i);
    if (own && places.emplace(*own, 0).second) names.emplace(*own, name(i));
  }
  CategoricalValues result{kind, {}, {}};
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

// 1.0 beside 1.
void note_zeros(ColumnFields& column) {
  int64_t with = 0;
  bool without = false;
  std::string_view first;
  for (const std::string& field : column.values) {
    if (field.empty()) continue;
    const bool own = without_zeros(field).size() < field.size();
    without = without || !own;
    if (own && with++ == 0) first = field;
  }
  if (with == 0 || !without) return;
  column.notes.push_back(fmt::format("column '{}': {} read as '{}'", column.title, fields_such_as(with, first), without_zeros(first)));
}

void note_case(const CategoricalValues& values, ColumnFields& column) {
  std::vector<int64_t> counts(values.names.size());
  for (const int64_t value : values.values) {
    if (value != kUnknown) ++counts[static_cast<size_t>(value)];
  }
  std::unordered_map<std::string, size_t> first;
  size_t alike = 0, a = 0, b = 0;
  for (size_t i = 0; i < values.names.size(); ++i) {
    const auto [found, is_new] = first.emplace(without_case(values.names[i]), i);
    if (!is_new && alike++ == 0) a = found->second, b = i;
  }
  if (alike == 0) return;
  column.notes.push_back(
      fmt::format("column '{}': '{}' ({}) and '{}' ({}) differ only in case and are two values{}; write one if they are one", column.title,
                  values.names[a], counted_fields(counts[a]), values.names[b], counted_fields(counts[b]),
                  alike == 1 ? "" : fmt::format(", as do {} more", alike - 1)));
}

}  // namespace

ColumnFields ColumnFields::selected(const std::vector<int64_t>& rows) const {
  ColumnFields fields{path, title, {}, {}, notes};
  for (const int64_t row : rows) {
    fields.values.push_back(row == kUnknown ? "" : values[static_cast<size_t>(row)]);
    fields.lines.push_back(row == kUnknown ? 0 : lines[static_cast<size_t>(row)]);
  }
  return fields;
}

bool is_missing_word(std::string_view field) {
  constexpr std::array<std::string_view, 19> kWords = {"nan",  "NaN",    "-nan",    "-NaN",     "NA",      "N/A",  "n/a",
                                                       "<NA>", "#NA",    "#N/A",    "#N/A N/A", "null",    "NULL", "None",
                                                       "NaT",  "1.#IND", "-1.#IND", "1.#QNAN",  "-1.#QNAN"};
  return std::ranges::find(kWords, field) != kWords.end();
}

void clear_spellings(ColumnFields& column) {
  struct Spellings {
    int64_t others = 0;      // fields that are written otherwise
    std::string_view other;  // the first of them
    bool has_plain = false;
  };
  std::unordered_map<std::string, Spellings> of_value;
  std::vector<std::string> plain;
  plain.reserve(column.values.size());
  const auto trimmed = [](std::string_view field) {  // blanks that any CSV may have
    const size_t first = field.find_first_not_of(" \t");
    return first == std::string_view::npos ? std::string_view() : field.substr(first, field.find_last_not_of(" \t") - first + 1);
  };
  for (const std::string& field : column.values) {
    plain.push_back(plain_text(field));
    Spellings& own = of_value[plain.back()];
    if (trimmed(field) == plain.back()) {
      own.has_plain = true;
    } else if (own.others++ == 0) {
      own.other = trimmed(field);
    }
  }
  int64_t fields = 0;
  std::string_view other, value;
  for (const std::string& one : plain) {  // in the order of the file
    Spellings& own = of_value.at(one);
    if (own.others == 0 || !own.has_plain || one.empty()) continue;
    if (fields == 0) other = own.other, value = one;
    fields += std::exchange(own.others, 0);
  }
  if (fields > 0) {
    column.notes.push_back(fmt::format("column '{}': {} read as '{}', from which {} only in blanks or Unicode form", column.title,
                                       fields_such_as(fields, other), value, fields == 1 ? "it differs" : "they differ"));
  }
  column.values = std::move(plain);
}

void clear_missing_words(ColumnFields& column) {
  int64_t missing = 0;
  std::string word;
  for (std::string& field : column.values) {
    if (!is_missing_word(field)) continue;
    if (missing++ == 0) word = field;
    field.clear();
  }
  if (missing > 0) column.notes.push_back(fmt::format("column '{}': {} read as unknown", column.title, fields_such_as(missing, word)));
}

std::optional<int64_t> integer_of(std::string_view field) {
  int64_t value = 0;
  const std::string_view whole = without_zeros(field);
  if (whole.size() > kMostDigits || !parse_integer(whole, &value)) return std::nullopt;
  if (whole.size() < field.size() && !is_printed(value, whole)) return std::nullopt;  // 007.0 and -0.0 are numbers
  return value;
}

std::optional<double> number_of(std::string_view field) {
  double value = 0;
  return parse_number(field, &value) && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

ValueKind value_kind(const ColumnFields& column) {
  bool known = false, integers = true, printed = true, padded_with_point = false, numbers = true;
  for (const std::string_view field : column.values) {
    if (field.empty()) continue;
    known = true;
    const auto value = integer_of(field);
    integers = integers && value;
    numbers = numbers && number_of(field);
    if (value) {
      printed = printed && is_printed(*value, without_zeros(field));
      padded_with_point = padded_with_point || without_zeros(field).size() < field.size();
    }
  }
  if (!known) return ValueKind::kNothing;
  if (integers && printed) return ValueKind::kIntegers;
  if (integers && !padded_with_point) return ValueKind::kPaddedIntegers;
  return numbers && !integers ? ValueKind::kNumbers : ValueKind::kNames;
}

CategoricalValues categorical_values(ColumnFields& column, SignsAlone signs) {
  if (signs == SignsAlone::kReject) refuse_signs(column);
  const bool named_signs = line_of_signs(column) != 0;
  const ValueKind kind = value_kind(column);
  if (kind == ValueKind::kIntegers && !named_signs) {
    note_zeros(column);
    return ordered<int64_t>(
        kind, column.values.size(), [&](size_t i) { return known_integer(column.values[i]); },
        [&](size_t i) { return std::to_string(*integer_of(column.values[i])); });
  }
  const bool has_unknown = kind == ValueKind::kPaddedIntegers && !named_signs;
  const auto key = [&](size_t i) {
    const std::string_view field = column.values[i];
    const bool known = !field.empty() && (!has_unknown || known_integer(field));
    return known ? std::optional<std::string_view>(field) : std::nullopt;
  };
  CategoricalValues values =
      ordered<std::string_view>(kind, column.values.size(), key, [&](size_t i) { return std::string(column.values[i]); });
  if (kind == ValueKind::kNames) note_case(values, column);
  return values;
}

void note_decimals(ColumnFields& column, const CategoricalValues& values) {
  if (values.kind != ValueKind::kNumbers) return;
  int64_t decimals = 0;
  std::string_view first;
  for (const std::string& field : column.values) {
    if (!field.empty() && !integer_of(field) && decimals++ == 0) first = field;
  }
  column.notes.push_back(fmt::format("column '{}': {} read as {}", column.title, fields_such_as(decimals, first),
                                     decimals == 1 ? "a name, not as a number" : "names, not as numbers"));
}

std::string note_on_codes(const std::string& title, const CategoricalValues& values, const char* what) {
  if (values.kind != ValueKind::kIntegers || values.names.empty()) return "";
  const int64_t least = integer_of(values.names.front()).value_or(0), largest = integer_of(values.names.back()).value_or(0);
  const int64_t second = values.names.size() < 2 ? 0 : integer_of(values.names[values.names.size() - 2]).value_or(0);
  const bool below = least < kUnknown, above = largest == kIgnored && second < kFarBelow;
  if (!below && !above) return "";
  const int64_t place = below ? 0 : std::ssize(values.names) - 1;
  const std::string& name = values.names[static_cast<size_t>(place)];
  return fmt::format("column '{}': {} is read as {} {} ({}); where it means unknown, leave the field empty", title, name, what, name,
                     counted_fields(std::count(values.values.begin(), values.values.end(), place)));
}

CategoricalValues numbered_values(const ColumnFields& numbers, const ColumnFields& names) {
  require_one_name_a_number(numbers, names);
  const auto name = [&](size_t i) { return names.values[i].empty() ? numbers.values[i] : names.values[i]; };
  return ordered<int64_t>(
      ValueKind::kIntegers, numbers.values.size(), [&](size_t i) { return known_integer(numbers.values[i]); }, name);
}

std::vector<double> numeric_values(const ColumnFields& column) {
  std::vector<double> numbers;
  numbers.reserve(column.values.size());
  for (size_t i = 0; i < column.values.size(); ++i) {
    const auto value = number_of(column.values[i]);
    if (!value && !column.values[i].empty()) {
      refuse_line(column.path, column.lines[i],
                  fmt::format("numeric column '{}': '{}' is not a finite number", column.title, column.values[i]));
    }
    numbers.push_back(value.value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  return numbers;
}

}  // namespace debias
