// Keys of a recipe as a sweep writes them.
#pragma once

#include <string>
#include <string_view>

#include "debias/core/config.h"

namespace debias {

// Sets the value at `key`, as the word KEY=VALUE of the command line does. The only term of an objective is also `objective.0`, but in an
// agent's recipe, which has no list of terms.
void assign_key(Config& recipe, const std::string& key, const Config& value);

// Whether one key is the other, or a section that it lies in.
bool keys_overlap(std::string_view a, std::string_view b);

}  // namespace debias
