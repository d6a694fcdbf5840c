#include "debias/data/readers/csv_column.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "debias/core/config.h"
#include "debias/data/readers/csv_file.h"
#include "debias/data/sample_table.h"

namespace debias {
namespace {

constexpr size_t kMostDigits = 18;

}  // namespace

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
  std::string_view word;
  for (std::string_view& field : column.values) {
    if (!is_missing_word(field)) continue;
    if (missing++ == 0) word = field;
    field = {};
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

}  // namespace debias
