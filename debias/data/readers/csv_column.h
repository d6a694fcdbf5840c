// One column of values of a CSV: which of its fields are unknown, and whether they are integers or names. Every reader of labels, bias
// labels and other columns follows these rules.
//
// Unknown are an empty field and a word that stands for a missing value (is_missing_word). Where all other fields are integers, -1 is unknown
// too.
//
// A column has integers if each of its known fields is the text that printing its integer gives: 0, 7, -1. Otherwise they are names, also
// where some or all of them are integers in another form (007, -0; +7 is 7): 01 and 1 are two names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace debias {

struct ColumnFields {
  const std::string& path;               // of the file, for messages
  std::string title;                     // of the column
  std::vector<std::string_view> values;  // trimmed; empty: unknown
  std::vector<int64_t> lines;            // line numbers, from 1
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

// The line of the first -1 of a column that has -1 and 1 alone; 0 for others.
int64_t line_of_signs(const ColumnFields& column);

// FileError for such a column. Tables of attributes write -1 for no and 1 for yes, and every no would be unknown.
void refuse_signs(const ColumnFields& column);

}  // namespace debias
