// The folders that a data set is read from, by its section of a recipe.
#pragma once

#include <string>
#include <vector>

#include "debias/core/config.h"

namespace debias {

// Nothing is written inside them (refuse_inside_data). For `sentences`, targets of links count, too: a run's vocabulary.txt would be read
// as a book. Empty for a section without a root, such as synthetic images.
std::vector<std::string> roots_of(const Config& section);

// The same of several, which often name the same folders: a corpus, in which links are looked for, is walked through once.
std::vector<std::string> roots_of(const std::vector<Config>& sections);

}  // namespace debias
