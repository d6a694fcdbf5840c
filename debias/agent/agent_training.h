// The training of an agent: recipe in, run folder out, under the loop of every run (train/loop/training_loop.h).
//
// An epoch is so many control steps, an evaluation follows it. Same recipe, seed, thread count, MuJoCo and renderer: same weights and metric
// files, byte for byte, however often the run was stopped and resumed. An update of the networks and the environment's step that follows
// the action before it run side by side; neither sees the other's result.
#pragma once

#include "debias/agent/agent_recipe.h"
#include "debias/train/loop/training_loop.h"

namespace debias {

struct AgentInput : RunControl {
  AgentRecipe recipe;
};

struct AgentResult : TrainResult {
  int64_t diverged = 0;  // episodes that the simulation ended
};

// Throws as run_training() does.
AgentResult train_agent(const AgentInput& input);

}  // namespace debias
