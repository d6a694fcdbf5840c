// Name of a class or bias label in results: its name, or its number if the data set has none.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

namespace debias {

inline std::string value_name(const std::vector<std::string>& names, int64_t i) {
  return i < std::ssize(names) ? names[static_cast<size_t>(i)] : fmt::format("{}", i);
}

}  // namespace debias
