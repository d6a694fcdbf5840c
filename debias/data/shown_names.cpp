#include "debias/data/shown_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace debias {

std::string shown_names(const std::vector<std::string>& names, size_t most) {
  const auto end = names.begin() + static_cast<std::ptrdiff_t>(std::min(most, names.size()));
  return fmt::format("{}{}", fmt::join(names.begin(), end, ", "), names.size() > most ? ", ..." : "");
}

}  // namespace debias
