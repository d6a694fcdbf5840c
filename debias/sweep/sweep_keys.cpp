#include "debias/sweep/sweep_keys.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "debias/core/error.h"
#include "debias/core/recipe_keys.h"

namespace debias {
namespace {

bool are_alike(const std::string& a, const std::string& b) {
  if (a == b) return true;
  return is_list_index(a) && is_list_index(b) && std::stoul(a) == std::stoul(b);
}

bool is_first_entry(const std::string& part) { return is_list_index(part) && std::stoul(part) == 0; }

// Number of parts of either key left where the other ends; nothing if they differ before.
struct PartsLeft {
  size_t of_a, of_b;
};
std::optional<PartsLeft> parts_left(std::string_view a, std::string_view b) {
  const std::vector<std::string> ours = parts_of_key(a), theirs = parts_of_key(b);
  size_t i = 0, j = 0;
  while (i < ours.size() && j < theirs.size()) {
    if (are_alike(ours[i], theirs[j])) {
      ++i;
      ++j;
    } else if (is_first_entry(ours[i]) && !is_list_index(theirs[j])) {
      ++i;
    } else if (is_first_entry(theirs[j]) && !is_list_index(ours[i])) {
      ++j;
    } else {
      return std::nullopt;
    }
  }
  return PartsLeft{ours.size() - i, theirs.size() - j};
}

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
  node_at(recipe, parts) = value;  // which knows its line in the sweep's file
}

bool keys_overlap(std::string_view a, std::string_view b) { return parts_left(a, b).has_value(); }

bool key_lies_in(std::string_view key, std::string_view section) {
  const auto left = parts_left(key, section);
  return left && left->of_b == 0;
}

}  // namespace debias
