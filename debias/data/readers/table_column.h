// One column of a CSV as values: which of its fields are unknown, and whether the others are integers, numbers or names. Every view of a
// table follows this rule.
//
// Unknown are an empty field and a word that stands for a missing value (is_missing_word). Where all other fields are integers, -1 is unknown
// too.
//
// A column has integers if each of its known fields is the text that printing its integer gives: 0, 7, -1. Otherwise they are names, also
// where some or all of them are integers in another form (007, -0; +7 is 7): 01 and 1 are two names.
//
// Integers are in numeric order, names in byte-wise order.
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
  std::vector<std::string> values;  // trimmed; empty: unknown
  std::vector<int64_t> lines;       // line numbers, from 1

  ColumnFields selected(const std::vector<int64_t>& rows) const;  // of these rows; for kUnknown an empty field of line 0
};

std::string_view without_blanks(std::string_view field);

// The spellings that pandas reads as missing: nan, NaN, -nan, -NaN, NA, N/A, n/a, <NA>, #NA, #N/A, null, NULL, None. Others are names, such
// as none.
bool is_missing_word(std::string_view field);

// Empties the fields that are words for missing values. Returns the remark "column 'bias': 2 fields such as 'nan' are read as unknown", or
// an empty text if there are none.
std::string clear_missing_words(ColumnFields& column);

// An integer of at most 18 digits, in any form.
std::optional<int64_t> integer_of(std::string_view field);

enum class FieldKind {
  kIntegers,     // as they are printed
  kPaddedNames,  // integers, some of them in another form
  kNames,        // also where no field is known
};
FieldKind field_kind(const ColumnFields& column);

struct CategoricalValues {
  std::vector<std::string> names;  // distinct, in order
  std::vector<int64_t> values;     // index into `names`, or kUnknown
};

// What a column of only -1 and 1 (no and yes) is: an error, because every no would be unknown, or two named values.
enum class SignsAlone { kReject, kName };

// Words for missing values are cleared before. Throws a FileError for a column of -1 and 1 alone with kReject: tables of attributes write -1
// for no and 1 for yes, and every no would be unknown.
CategoricalValues categorical_values(const ColumnFields& column, SignsAlone signs = SignsAlone::kReject);

// Values that have a number and a name, in the order of the numbers; -1 and an empty number are unknown, an empty name is the number.
// Throws a FileError if a number is not an integer, or one number has two names.
CategoricalValues numbered_values(const ColumnFields& numbers, const ColumnFields& names);

// NaN for an empty field. Throws a FileError if a field is not a finite number.
std::vector<double> numeric_values(const ColumnFields& column);

}  // namespace debias
