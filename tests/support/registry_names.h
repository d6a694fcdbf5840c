// The names of a registry's entries: what contract suites run over.
#pragma once

#include <string>
#include <vector>

namespace debias {

template <class Entry>
std::vector<std::string> names_of(const std::vector<Entry>& registry) {
  std::vector<std::string> names;
  for (const Entry& entry : registry) names.push_back(entry.name);
  return names;
}

}  // namespace debias
