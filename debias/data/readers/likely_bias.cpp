#include "debias/data/readers/likely_bias.h"

#include <algorithm>
#include <map>
#include <set>

#include "debias/data/sample_table.h"
#include "debias/data/split_names.h"

namespace debias {
namespace {

// A class has one value only, and no other class has it.
bool renames_classes(const std::vector<std::string>& values, const std::vector<int64_t>& labels) {
  std::map<int64_t, std::string> value_of;
  std::map<std::string, int64_t> class_of;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].empty() || labels[i] == kUnknown) continue;
    if (value_of.emplace(labels[i], values[i]).first->second != values[i]) return false;
    if (class_of.emplace(values[i], labels[i]).first->second != labels[i]) return false;
  }
  return value_of.size() > 1;
}

}  // namespace

bool may_be_bias(const std::vector<std::string>& values, const std::vector<int64_t>& labels) {
  std::set<std::string> different(values.begin(), values.end());
  different.erase("");
  const auto known = values.size() - static_cast<size_t>(std::count(values.begin(), values.end(), ""));
  if (2 * known < values.size() || different.size() < 2 || different.size() * different.size() > known) return false;
  if (std::all_of(different.begin(), different.end(), names_a_split)) return false;
  return !renames_classes(values, labels);
}

}  // namespace debias
