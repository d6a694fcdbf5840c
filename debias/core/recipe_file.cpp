#include "debias/core/recipe_file.h"

#include <algorithm>
#include <filesystem>

#include "debias/core/error.h"
#include "debias/core/recipe_keys.h"

namespace debias {
namespace {

constexpr int kMostBases = 8;

// That a key assigned, by the same reading of it.
Config& node_at(Config& recipe, const std::vector<std::string>& parts) {
  Config* node = &recipe;
  for (const auto& part : parts) {
    if (is_list_index(part) && node->is_sequence()) {
      node = &node->items()[std::stoul(part)];
      continue;
    }
    if (node->is_sequence()) node = &node->items()[0];  // the only one
    node = node->find(part);
  }
  return *node;
}

Config with_base(const Config& root, const std::string& file, const FindBase& find_base, int bases);

Config base_of(const Config& root, const std::string& file, const FindBase& find_base, int bases) {
  namespace fs = std::filesystem;
  const Config& node = *root.find("base");
  if (node.is_map()) return with_base(node, file, find_base, bases);
  if (!node.is_scalar()) throw usage_error("{}base: expected one word or number", node.prefix());
  const std::string beside = (fs::path(file).parent_path() / node.text()).string();
  std::error_code ignored;
  const bool is_beside = fs::exists(beside, ignored), is_here = fs::exists(node.text(), ignored);
  const std::string path = is_beside ? beside : is_here ? node.text() : find_base(node.text());
  const Config base = read_yaml_file(path);
  if (is_sweep(base)) throw usage_error("{}base: '{}' is a sweep; give a recipe", node.prefix(), node.text());
  return with_base(base, path, find_base, bases);
}

Config with_base(const Config& root, const std::string& file, const FindBase& find_base, int bases) {
  if (!root.is_map() || root.find("base") == nullptr) return root;
  if (bases == kMostBases)
    throw usage_error("{}base: more than {} recipes, one the base of another", root.find("base")->prefix(), kMostBases);
  Config recipe = base_of(root, file, find_base, bases + 1);
  recipe.erase("expected");
  for (const auto& [key, value] : root.entries()) {
    if (key != "base") assign_key(recipe, key, value);
  }
  return recipe;
}

}  // namespace

void assign_key(Config& recipe, const std::string& key, const Config& value) {
  if (key.empty() || key.find('=') != std::string::npos) {
    throw usage_error("{}'{}' is not a key of a recipe; write one such as optimizer.learning_rate", value.prefix(), key);
  }
  const std::vector<std::string> parts = parts_of_key(key);
  Config* objective = recipe.find("objective");
  const bool is_one_term = objective != nullptr && !objective->is_sequence();
  if (is_one_term && parts.front() == "objective" && parts.size() > 1 && !is_agent_recipe(recipe))
    *objective = Config::sequence({*objective});
  try {
    recipe.assign(key + "=" + value.to_yaml());
  } catch (const Error& error) {
    constexpr std::string_view kOwn = "command line: ";
    const std::string text = error.what();
    throw Error(error.kind(), value.prefix() + (text.starts_with(kOwn) ? text.substr(kOwn.size()) : text));
  }
  node_at(recipe, parts) = value;  // which knows its line in its file
}

const std::vector<std::string>& keys_of_sweeps() {
  static const std::vector<std::string> keys = {"base", "variants", "grid", "overrides", "seeds", "metric", "expected", "axes", "output"};
  return keys;
}

bool is_sweep(const Config& root) {
  if (!root.is_map() || root.find("base") == nullptr) return false;
  const auto of_sweeps = [](const auto& entry) { return std::ranges::find(keys_of_sweeps(), entry.first) != keys_of_sweeps().end(); };
  const auto of_sweeps_alone = [&](const auto& entry) {
    return of_sweeps(entry) && entry.first != "base" && entry.first != "expected" && entry.first != "output";
  };
  return std::ranges::any_of(root.entries(), of_sweeps_alone) || std::ranges::all_of(root.entries(), of_sweeps);
}

Config read_recipe_file(const std::string& path, const FindBase& find_base) {
  const Config root = read_yaml_file(path);
  return is_sweep(root) ? root : with_base(root, path, find_base, 0);
}

Config read_base(const Config& root, const std::string& file, const FindBase& find_base) { return base_of(root, file, find_base, 0); }

}  // namespace debias
