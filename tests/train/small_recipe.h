// The small recipe as a tree, with an output folder.
#pragma once

#include <string>
#include <vector>

#include "debias/train/recipe/recipe.h"
#include "tests/train/small_recipe_text.h"

namespace debias {

inline Config small_config(const std::string& output) {
  Config root = parse_yaml(kSmallRecipe, "small.yaml");
  root.set("output", Config::string(output));
  return root;
}

// The recipe with key=value words over it.
inline Config changed(Config root, const std::vector<std::string>& words) {
  for (const auto& word : words) root.assign(word);
  return root;
}

}  // namespace debias
