#include "debias/core/flattened.h"

#include <fmt/format.h>

namespace debias {
namespace {

void flatten(const Config& node, const std::string& path, bool in_list, std::vector<std::pair<std::string, std::string>>& out) {
  const auto below = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
  if (node.is_map()) {
    if (in_list && node.entries().empty()) out.emplace_back(path, "{}");
    for (const auto& [key, value] : node.entries()) flatten(value, below(key), in_list, out);
    return;
  }
  if (!node.is_sequence()) {
    out.emplace_back(path, node.is_null() ? "null" : node.text());
    return;
  }
  std::string list;
  for (size_t i = 0; i < node.items().size(); ++i) {
    const Config& item = node.items()[i];
    if (item.is_map() || item.is_sequence()) {
      flatten(item, below(fmt::format("{}", i)), true, out);
    } else {
      list += (list.empty() ? "" : ", ") + (item.is_null() ? "null" : item.text());
    }
  }
  if (!list.empty() || node.items().empty()) out.emplace_back(path, "[" + list + "]");
}

}  // namespace

std::vector<std::pair<std::string, std::string>> flattened(const Config& config) {
  std::vector<std::pair<std::string, std::string>> out;
  flatten(config, "", false, out);
  return out;
}

}  // namespace debias
