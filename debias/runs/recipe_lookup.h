// Finds recipes by name from any folder: `demo/infonce` is the file demo/infonce.yaml in ./recipes, or else in the program's own recipes.
// These are installed relative to the program; a build folder has a link in the same place.
#pragma once

#include <string>
#include <vector>

#include "debias/core/config.h"

namespace debias {

// The path of the requested recipe: `asked` if it is a file, else the recipe with that name, with or without `.yaml` and a leading
// `recipes/`. Usage error with the nearest name otherwise.
std::string find_recipe(const std::string& asked);

// Resolves paths to sweeps and runs: a path that does not exist but names a recipe (find_recipe()) becomes its file; others are unchanged.
std::vector<std::string> with_named_recipes(std::vector<std::string> paths);

// The recipe of a training command with the overrides `key.sub=value` applied. `asked` is a file, a name, or a run folder with a
// config.yaml; with `resume`, such a run resumes in its folder, which may have been moved. A leading `~` of `output` is the home folder.
Config read_recipe_config(const std::string& asked, const std::vector<std::string>& words, bool resume = false);

struct ListedRecipe {
  std::string name;  // demo/infonce
  std::string path;
  std::string summary;  // first sentence of the comment at its top
  std::string data;     // training data set, with its root if the recipe sets one
  std::string time;     // text after `Time:` in that comment; empty without one
};

// All recipes that can be found by name, sorted by name.
std::vector<ListedRecipe> list_recipes();

// A message for the case that there are none: the folders that were searched, and what to do.
std::string no_recipes();

}  // namespace debias
