// Recipes by name, from any folder: `demo/infonce` is the file demo/infonce.yaml of ./recipes, else of the recipes that belong to the
// program. They are in the installation, relative to the program itself; a build folder has a link in the same place.
#pragma once

#include <string>
#include <vector>

#include "debias/core/config.h"

namespace debias {

// The path of the recipe that was requested: `asked` itself where it is one, else that of a recipe called so, with or without `.yaml` and a
// leading `recipes/`. A usage error with the nearest name otherwise.
std::string find_recipe(const std::string& asked);

// Resolves paths to sweeps and runs: a missing one that names a recipe, as by find_recipe(), becomes its file; others stay.
std::vector<std::string> with_named_recipes(std::vector<std::string> paths);

// The recipe of a training command, with the overrides `key.sub=value` applied: a file, a name, or a run folder, whose config.yaml is
// meant; to be resumed, that run resumes in the folder, which may have been moved. A `~` at the head of `output` is the home folder.
Config read_recipe_config(const std::string& asked, const std::vector<std::string>& words, bool resume = false);

struct ListedRecipe {
  std::string name;  // demo/infonce
  std::string path;
  std::string summary;  // the first sentence of the comment at its head
  std::string data;     // the data set that it trains on, with the root where it names one
  std::string time;     // what follows `Time:` in that comment; empty where it says nothing
};

// Every recipe that a name finds, by name.
std::vector<ListedRecipe> list_recipes();

// For where there are none: the folders that were looked into, and what to do.
std::string no_recipes();

}  // namespace debias
