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
constexpr std::array<int64_t, 6> kCodes = {99, 255, 999, 9999, 65535, 99999};  // mark what is unknown where the others are far below
constexpr size_t kLongestWord = 9;                                             // of kNothing and kInBrackets, with brackets

// By which programs write that nothing is there, in any case and in brackets: (null), [n/a], <NaN>.
constexpr std::array<std::string_view, 4> kNothing = {"nan", "null", "n/a", "n.a."}, kInBrackets = {"na", "blank", "empty", "missing"};

// By which people write it, and which may be values too.
constexpr std::array<std::string_view, 38> kPlaceholders = {
    "unknown",       "unk",           "missing",   "none",         "other",         "others",      "na",
    "n.a",           "nil",           "undefined", "unspecified",  "not available", "not known",   "not applicable",
    "not specified", "not recorded",  "not given", "no data",      "nodata",        "no value",    "tbd",
    "tba",           "todo",          "blank",     "empty",        "unlabeled",     "unlabelled",  "unassigned",
    "undetermined",  "indeterminate", "unbekannt", "keine angabe", "inconnu",       "desconocido", "sconosciuto",
    "misc",          "nan",           "null"};

// Numbers for it, among names.
constexpr std::array<std::string_view, 4> kNumbers = {"-1", "-9", "-99", "-999"};

std::string counted_fields(int64_t fields) { return fields == 1 ? "1 field" : fmt::format("{} fields", fields); }

// "1 field, 'nan', is" or "2 fields such as 'nan' are".
std::string fields_such_as(int64_t fields, std::string_view first) {
  return fields == 1 ? fmt::format("1 field, '{}', is", first) : fmt::format("{} such as '{}' are", counted_fields(fields), first);
}

template <class Words>
bool is_among(std::string_view word, const Words& words) {
  return std::ranges::find(words, word) != words.end();
}

std::string_view inside_brackets(std::string_view word) {
  constexpr std::string_view kOpen = "([{<", kClosed = ")]}>";
  const size_t kind = word.size() < 3 ? std::string_view::npos : kOpen.find(word.front());
  return kind != std::string_view::npos && word.back() == kClosed[kind] ? word.substr(1, word.size() - 2) : word;
}

// #VALUE!, #DIV/0!, #NAME?, #WERT!, #NV, Err:502.
bool is_spreadsheet_error(std::string_view field) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (field.starts_with("Err:")) return field.size() == 7 && std::ranges::all_of(field.substr(4), is_digit);
  if (field == "#NV" || field == "#GETTING_DATA") return true;
  const bool is_marked = field.size() > 3 && field.front() == '#' && (field.back() == '!' || field.back() == '?');
  const auto is_sign = [&](char c) {
    return (c >= 'A' && c <= 'Z') || is_digit(c) || c == '/' || c == '_' || static_cast<signed char>(c) < 0;
  };
  const std::string_view name = is_marked ? field.substr(1, field.size() - 2) : field;
  return is_marked && !is_digit(name.front()) && std::ranges::all_of(name, is_sign);
}

// "-", "--", a longer dash, "?", "." or "...".
bool is_blank_sign(std::string_view field) {
  if (field.empty()) return false;
  for (const std::string_view sign : {"-", "?", ".", "\u2012", "\u2013", "\u2014", "\u2015", "\u2212", "\u2026"}) {
    std::string_view rest = field;
    while (rest.starts_with(sign)) rest.remove_prefix(sign.size());
    if (rest.empty()) return true;
  }
  return false;
}

// Such as + or !, beside which - and ? are values.
bool is_other_sign(std::string_view field) {
  constexpr std::string_view kSigns = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
  return !field.empty() && field.find_first_not_of(kSigns) == std::string_view::npos && !is_blank_sign(field);
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
  if (is_among(field, kWords) || is_spreadsheet_error(field) || field == "\\N") return true;
  if (field.size() > kLongestWord) return false;
  const std::string word = without_case(field);
  const std::string_view inside = inside_brackets(word);
  const bool is_titled = field.size() > 1 && field[0] == 'N' && field[1] >= 'a';  // Nan and Null are names of people
  return (is_among(inside, kNothing) && !is_titled) || (inside.size() < word.size() && is_among(inside, kInBrackets));
}

bool is_missing_value(std::string_view field) { return is_missing_word(field) || is_blank_sign(field); }

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
  const bool has_signs = std::ranges::any_of(column.values, is_other_sign);
  for (std::string& field : column.values) {
    if (field.empty() || !(is_missing_word(field) || (!has_signs && is_blank_sign(field)))) continue;
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
  if (values.names.empty()) return "";
  const auto note = [&](size_t place, int64_t more) {
    const std::string& name = values.names[place];
    return fmt::format("column '{}': {} is read as {} {} ({}){}; where it means unknown, leave the field empty", title, name, what, name,
                       counted_fields(std::count(values.values.begin(), values.values.end(), static_cast<int64_t>(place))),
                       more == 0 ? "" : fmt::format(", as {} {} more", more == 1 ? "is" : "are", more));
  };
  if (values.kind == ValueKind::kIntegers) {
    const int64_t least = integer_of(values.names.front()).value_or(0), largest = integer_of(values.names.back()).value_or(0);
    const int64_t second = values.names.size() < 2 ? 0 : integer_of(values.names[values.names.size() - 2]).value_or(0);
    if (least < kUnknown) return note(0, 0);
    const bool is_code = std::ranges::find(kCodes, largest) != kCodes.end() &&
                         (largest == 255 ? second < 254 : values.names.size() > 1 && 2 * second < largest);
    return is_code ? note(values.names.size() - 1, 0) : "";
  }
  const auto is_placeholder = [](const std::string& name) {
    const std::string word = without_case(name);
    return is_among(inside_brackets(word), kPlaceholders) || is_among(name, kNumbers);
  };
  const auto first = std::ranges::find_if(values.names, is_placeholder);
  return first == values.names.end() || values.names.size() < 2
             ? ""
             : note(static_cast<size_t>(first - values.names.begin()), std::ranges::count_if(values.names, is_placeholder) - 1);
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
