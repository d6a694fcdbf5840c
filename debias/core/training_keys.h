// Keys of a recipe that training depends on: a run does not resume when they have changed.
#pragma once

#include <string_view>

namespace debias {

// False of names, places (what the data are, fingerprints say), how the work is shared out, and of what is evaluated. `key` is a leaf's:
// "train.workers", "data.test.root".
bool changes_training(std::string_view key);

// True if `key` is `section` or is in it: "data.test" and "data.test.root".
bool is_of_section(std::string_view key, std::string_view section);

}  // namespace debias
