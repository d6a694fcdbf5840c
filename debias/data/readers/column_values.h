// Converts the fields of one column of a CSV to values (csv_column.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/data/readers/csv_column.h"

namespace debias {

struct CategoricalValues {
  std::vector<std::string> names;  // distinct, in order
  std::vector<int64_t> values;     // index into `names`, or kUnknown
};

// What a column of only -1 and 1 (no and yes) is: an error, because every no would be unknown, or two named values.
enum class SignsAlone { kReject, kName };

// Integers are in numeric order, names in byte-wise order. Words for missing values are cleared before. Throws a FileError for a column of
// -1 and 1 alone with kReject.
CategoricalValues categorical_values(const ColumnFields& column, SignsAlone signs = SignsAlone::kReject);

// Values that have a number and a name, in the order of the numbers; -1 and an empty number are unknown, an empty name is the number.
// Throws a FileError if a number is not an integer, or one number has two names.
CategoricalValues numbered_values(const ColumnFields& numbers, const ColumnFields& names);

// NaN for an empty field. Throws a FileError if a field is not a finite number.
std::vector<double> numeric_values(const ColumnFields& column);

}  // namespace debias
