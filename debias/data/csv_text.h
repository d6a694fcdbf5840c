// Lines of CSV files, as csv_file.h reads them.
#pragma once

#include <string>
#include <vector>

namespace debias {

// The fields with commas between and a line end; quoted as RFC 4180 asks where they hold commas, quotes or line breaks.
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace debias
