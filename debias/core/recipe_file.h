// A recipe as a file holds it, which may name another as its `base`:
//
//   base: infonce.yaml                                    # a path or name
//   objective: {name: debiased_negatives, tau_plus: 0.1}  # keys that differ, each as it is on the command line of `debias train`
//
// A key replaces a section (`objective`) or one option of it (`train.epochs`). What is published (`expected`) is of the base's own setting
// and does not pass on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "debias/core/config.h"

namespace debias {

// Sets the value at `key`, as the word KEY=VALUE of the command line does. The only term of an objective is also `objective.0`, but in an
// agent's recipe, which has no list of terms. A usage error for what is not a key.
void assign_key(Config& recipe, const std::string& key, const Config& value);

// Path of the recipe that `base` names; throws where there is none.
using FindBase = std::function<std::string(const std::string&)>;

const std::vector<std::string>& keys_of_sweeps();

// True if a YAML file is a sweep and not a recipe: it has a base, and a key that only sweeps have or none that they have not.
bool is_sweep(const Config& root);

// The recipe in a file, whole; a sweep as it is written. Usage errors: a base that is a sweep, more than eight one on another.
Config read_recipe_file(const std::string& path, const FindBase& find_base);

// The recipe that `base` of a recipe or sweep in `file` names, whole: written there, or a file by its path from that folder, from here, or
// by its name, the first of these that there is.
Config read_base(const Config& root, const std::string& file, const FindBase& find_base);

}  // namespace debias
