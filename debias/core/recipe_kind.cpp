#include "debias/core/recipe_kind.h"

namespace debias {

bool is_agent_recipe(const Config& root) { return root.find("environment") != nullptr; }

}  // namespace debias
