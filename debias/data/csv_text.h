// Lines of CSV files, as csv_table.h reads them.
#pragma once

#include <string>
#include <vector>

namespace debias {

// A field as a file has it: quoted as RFC 4180 asks where it holds commas, quotes or line breaks, and in UTF-8 (in_utf8, printable.h).
std::string quoted_field(const std::string& field);

// The fields with commas between and a line end.
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace debias
