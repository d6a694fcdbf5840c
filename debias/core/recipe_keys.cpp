#include "debias/core/recipe_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "debias/core/error.h"
#include "debias/core/nearest_name.h"

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

bool is_agent_recipe(const Config& root) { return root.find("environment") != nullptr; }

bool is_of_section(std::string_view key, std::string_view section) {
  return key.starts_with(section) && (key.size() == section.size() || key[section.size()] == '.');
}

bool changes_training(std::string_view key) {
  constexpr std::array<std::string_view, 19> kFree = {
      // Names and places; what the data are, fingerprints say.
      "name", "output", "expected", "data.verify", "data.train.root", "data.train.labels", "data.train.vocabulary", "data.train.cache",
      // Distribution and output of the work.
      "train.workers", "train.prefetch", "train.threads", "train.checkpoint_every", "train.log_every", "train.on_full_disk",
      "train.rank_timeout",
      // Evaluated data sets.
      "evaluate", "views.eval", "data.valid", "data.test"};
  return std::ranges::none_of(kFree, [&](std::string_view section) { return is_of_section(key, section); });
}

namespace {

void require_seed(const Config& seed, const std::string& what) {
  int64_t number = 0;
  if (seed.is_scalar() && parse_integer(seed.text(), &number)) return;
  const std::string found = seed.is_scalar() ? seed.text() : "a list or map";
  const std::string near = nearest_name(found, {std::string(kSeedOfRun)});
  const std::string where = seed.prefix(), section = what + ": ";  // an override of the whole section names it already
  throw usage_error("{}{}seed: expected an integer, or {} for the run's seed, found '{}'{}", where, where.ends_with(section) ? "" : section,
                    kSeedOfRun, found, near.empty() ? "" : "; did you mean 'run'?");
}

}  // namespace

bool follows_run_seed(const Config& section) {
  const Config* seed = section.find("seed");
  return seed != nullptr && seed->is_scalar() && seed->text() == kSeedOfRun;
}

Config with_run_seed(Config section, uint64_t run_seed, const std::string& what) {
  const Config* seed = section.find("seed");
  if (seed == nullptr) return section;
  if (!follows_run_seed(section)) {
    require_seed(*seed, what);
    return section;
  }
  Config number = Config::integer(static_cast<int64_t>(run_seed));
  number.set_where(seed->where());
  section.set("seed", std::move(number));
  return section;
}

}  // namespace debias
