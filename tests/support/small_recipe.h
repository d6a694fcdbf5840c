// A recipe that trains in a second: 96 glyphs, the smallest ResNet.
#pragma once

#include <string>
#include <vector>

#include "debias/core/config.h"
#include "tests/train/small_recipe_text.h"

namespace debias {

// With key=value words over it.
inline std::string small_recipe(const std::vector<std::string>& overrides = {}) {
  Config recipe = parse_yaml(kSmallRecipe, "small.yaml");
  for (const auto& word : overrides) recipe.assign(word);
  return recipe.to_yaml();
}

}  // namespace debias
