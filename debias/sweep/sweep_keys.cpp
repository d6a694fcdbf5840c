#include "debias/sweep/sweep_keys.h"

#include <fmt/format.h>

#include "debias/core/error.h"
#include "debias/core/recipe_kind.h"

namespace debias {

void assign_key(Config& recipe, const std::string& key, const Config& value) {
  Config* objective = recipe.find("objective");
  const bool is_one_term = objective != nullptr && !objective->is_sequence();
  if (is_one_term && key.starts_with("objective.") && !is_agent_recipe(recipe)) *objective = Config::sequence({*objective});
  try {
    recipe.assign(key + "=" + value.to_yaml());
  } catch (const Error& error) {
    constexpr std::string_view kOwn = "command line: ";
    const std::string text = error.what();
    throw Error(error.kind(), value.prefix() + (text.starts_with(kOwn) ? text.substr(kOwn.size()) : text));
  }
}

bool keys_overlap(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  return b.starts_with(a) && (a.size() == b.size() || b[a.size()] == '.' || b[a.size()] == '[');
}

}  // namespace debias
