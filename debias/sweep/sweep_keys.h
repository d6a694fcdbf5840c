// Keys of a recipe as a sweep writes them.
#pragma once

#include <string>
#include <string_view>

#include "debias/core/config.h"

namespace debias {

// Sets the value at `key`, as the word KEY=VALUE of the command line does. The only term of an objective is also `objective.0`, but in an
// agent's recipe, which has no list of terms. A usage error for what is not a key.
void assign_key(Config& recipe, const std::string& key, const Config& value);

// True if one key is the other, or a section that it is in. Spellings are equivalent: `objective.1.weight` and
// `objective[1].weight`, and `objective.tau_plus` and `objective.0.tau_plus`, since the first would be rejected if there were two terms.
bool keys_overlap(std::string_view a, std::string_view b);

// True if `key` is `section` or is in it, so that setting the section afterwards undoes the key.
bool key_lies_in(std::string_view key, std::string_view section);

}  // namespace debias
