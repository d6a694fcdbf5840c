// Kind of training that a recipe is for, recognised by its contents, so that a program without agents can name it.
#pragma once

#include "debias/core/config.h"

namespace debias {

// True if a recipe is of an agent (debias rl train) and not of an encoder (debias train): it has an `environment`.
bool is_agent_recipe(const Config& root);

}  // namespace debias
