// Reads a section's options and reports all its mistakes at once.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "debias/core/error.h"
#include "debias/core/options.h"

namespace debias {

// As options_from(), but a usage error names every wrong key and value of the section (UsageErrors where there are several), not the
// first alone. Conditions on several options are checked only if each of them is valid.
template <class Options>
Options read_options(const Config& node, const std::string& what, const std::vector<std::string>& others = {}) {
  Mistakes mistakes;
  Options tried{};
  for (const auto& [key, value] : node.entries()) {
    if (key == "variant" || std::ranges::find(others, key) != others.end()) continue;
    mistakes.collect([&, &key = key, &value = value] { described(tried).assign(key, value, what, others); });
  }
  mistakes.throw_if_any();
  return options_from<Options>(node, what, others);
}

}  // namespace debias
