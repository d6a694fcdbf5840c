// Converts the fields of one column of a CSV to values.
#pragma once

#include <cstdint>
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

struct CategoricalValues {
  std::vector<std::string> names;  // distinct, in order
  std::vector<int64_t> values;     // index into `names`, or kUnknown
};

std::string_view without_blanks(std::string_view field);

// True for the words that stand for a missing value in exported tables: nan, NaN, NA, N/A, n/a, <NA>, null, NULL.
bool is_missing_word(std::string_view field);

// What a column of only -1 and 1 (no and yes) is: an error, because every no would be unknown, or two named values.
enum class SignsAlone { kReject, kName };

// In numeric order if every field is an integer of at most 18 digits (-1 is unknown), else in byte-wise order. Throws a FileError for a
// column of -1 and 1 alone with kReject.
CategoricalValues categorical_values(const ColumnFields& column, SignsAlone signs = SignsAlone::kReject);

// Values that have a number and a name, in the order of the numbers; -1 and an empty number are unknown, an empty name is the number.
// Throws a FileError if a number is not an integer, or one number has two names.
CategoricalValues numbered_values(const ColumnFields& numbers, const ColumnFields& names);

// NaN for an empty field. Throws a FileError if a field is not a finite number.
std::vector<double> numeric_values(const ColumnFields& column);

}  // namespace debias
