// One column of a CSV as values: which of its fields are unknown, and whether the others are integers, numbers or names. Every view of a
// table follows this rule.
//
// Fields are compared as plain_text (normal_form.h): blanks of any kind at their ends do not count, those between are one space, and
// characters are composed. A note counts fields that are written otherwise than the same value elsewhere in the column.
//
// Unknown are an empty field and what stands for a missing value (is_missing_value). Where all other fields are integers, -1 is unknown
// too. The rest is one of these:
//   integers  each is an integer as it is printed, or with zeros after the point, as pandas writes integers with gaps: 0, 7, -1, +7, 1.0.
//             In numeric order, and named as printed.
//   names     integers of which some are in another form (007, -0): 01 and 1 are two names. In byte-wise order.
//   numbers   decimals are among them. As categories they are names (note_decimals).
//   names     anything else. A note counts names that differ from others only in case.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace debias {

struct ColumnFields {
  std::string path;                 // of the file, for messages
  std::string title;                // of the column
  std::vector<std::string> values;  // plain_text; empty: unknown
  std::vector<int64_t> lines;       // line numbers, from 1
  std::vector<std::string> notes;   // one line each: what is read otherwise than it is written

  ColumnFields selected(const std::vector<int64_t>& rows) const;  // of these rows; for kUnknown an empty field of line 0
};

// What pandas, databases and spreadsheets write for a missing value: nan, NA, N/A, <NA>, #NA, #N/A, #N/A N/A, None, NaT, 1.#IND, 1.#QNAN,
// \N, nan, null, n/a and n.a. in any case, these and na, blank, empty and missing in brackets, and errors of spreadsheets, such as #VALUE! and
// Err:502. Others are names, such as none.
bool is_missing_word(std::string_view field);

// Also signs alone: -, --, ?, . and longer ones of each.
bool is_missing_value(std::string_view field);

// Makes each field its plain_text, with the note "column 'city': 2 fields such as 'New  York' are read as 'New York', from which they differ
// only in blanks or Unicode form" where a value is written in several ways.
void clear_spellings(ColumnFields& column);

// Empties the fields that are missing values, with the note "column 'bias': 2 fields such as 'nan' are read as unknown".
// Signs are values where others, such as +, are in the column.
void clear_missing_words(ColumnFields& column);

// 7 of 7, +7, 007 and 7.0: at most 18 digits.
std::optional<int64_t> integer_of(std::string_view field);

// A finite number in decimal or scientific form.
std::optional<double> number_of(std::string_view field);

enum class ValueKind {
  kNothing,         // no field is known
  kIntegers,        // as they are printed, or with zeros after the point
  kPaddedIntegers,  // in another form, some of them: names
  kNumbers,
  kNames
};
ValueKind value_kind(const ColumnFields& column);

struct CategoricalValues {
  ValueKind kind = ValueKind::kNothing;
  std::vector<std::string> names;  // distinct, in order
  std::vector<int64_t> values;     // index into `names`, or kUnknown
};

// What a column of only -1 and 1 (no and yes) is: an error, because every no would be unknown, or two named values.
enum class SignsAlone { kReject, kName };

// Adds notes to `column`, whose words for missing values are cleared before. Throws a FileError for a column of -1 and 1 alone with kReject:
// tables of attributes write -1 for no and 1 for yes, and every no would be unknown.
CategoricalValues categorical_values(ColumnFields& column, SignsAlone signs = SignsAlone::kReject);

// Adds the note "column 'age': 2 fields such as '3.5' are read as names, not as numbers" where decimals are among numbers.
void note_decimals(ColumnFields& column, const CategoricalValues& values);

// "column 'label': 255 is read as class 255 (3 fields); ..." of values that others write for an unknown one: integers below -1, 255 and 999 (and
// the like) where the others are far below, and words such as unknown, none and other. Empty without them. `what` is "class", "bias label" or
// "group".
std::string note_on_codes(const std::string& title, const CategoricalValues& values, const char* what);

// Values that have a number and a name, in the order of the numbers; -1 and an empty number are unknown, an empty name is the number.
// Throws a FileError if a number is not an integer, or one number has two names.
CategoricalValues numbered_values(const ColumnFields& numbers, const ColumnFields& names);

// NaN for an empty field. Throws a FileError if a field is not a finite number.
std::vector<double> numeric_values(const ColumnFields& column);

}  // namespace debias
