// A section's options with all that is wrong in it told at once.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "debias/core/mistakes.h"
#include "debias/core/options.h"

namespace debias {

// As OptionTable::read(), but a usage error names every wrong key and value of the section (UsageErrors where there are several), not the
// first alone. What options have to be together is checked only where each of them is in place.
template <class Options>
Options read_options(const Config& node, const std::string& what, const std::vector<std::string>& others = {}) {
  Mistakes mistakes;
  Options tried{};
  for (const auto& [key, value] : node.entries()) {
    if (key == "variant" || std::ranges::find(others, key) != others.end()) continue;
    mistakes.collect([&, &key = key, &value = value] { Options::table().assign(tried, key, value, what, others); });
  }
  mistakes.throw_if_any();
  return Options::table().read(node, what, others);
}

}  // namespace debias
