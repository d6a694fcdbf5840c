// The sections of a training recipe, for lists and documentation; read_recipe() accepts only these.
#pragma once

#include <string>
#include <vector>

#include "debias/core/options.h"

namespace debias {

struct RecipeSection {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options;  // the section's own; empty for a single value, and if `name` selects an entry with options
};

const std::vector<RecipeSection>& recipe_sections();
std::vector<std::string> recipe_section_names();

}  // namespace debias
