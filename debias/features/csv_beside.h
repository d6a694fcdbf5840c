// Finds the CSV of a feature table next to its vectors, if none is named.
#pragma once

#include <string>

namespace debias {

inline constexpr const char* kNamesEnding = ".names.csv";

// F.names.csv or F.csv for F.npy, the first that exists; empty if neither does.
std::string csv_beside(const std::string& vectors);

}  // namespace debias
