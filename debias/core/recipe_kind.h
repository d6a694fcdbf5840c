// Which of the program's trainings a recipe is for, told by its contents, so that a program without agents can say what it was given.
#pragma once

#include "debias/core/config.h"

namespace debias {

// Whether a recipe is one of an agent (debias rl train) and not of an encoder (debias train): it has an `environment`.
bool is_agent_recipe(const Config& root);

}  // namespace debias
