// The CSV of a table of features that is not named: it lies beside the vectors.
#pragma once

#include <string>

namespace debias {

inline constexpr const char* kNamesEnding = ".names.csv";

// F.names.csv or F.csv of F.npy, the first that exists; empty without either.
std::string csv_beside(const std::string& vectors);

}  // namespace debias
