// The recipe of `debias rl train`, read and checked before anything is built.
//
//   name: cartpole
//   seed: 1
//   environment: {task: cartpole_swingup}
//   agent: {batch_size: 128}
//   objective: {name: debiased_negatives, tau_plus: 0.1, positives: 2}     # or none: no contrastive step
//   replay: {capacity: 100000}
//   train: {epochs: 10, control_steps: 10000}
//   evaluate: {episodes: 10}
//   output: runs/cartpole
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "debias/agent/agent_options.h"
#include "debias/core/config.h"
#include "debias/losses/objective.h"
#include "debias/train/recipe/recipe_sections.h"

namespace debias {

struct Task;

struct AgentRecipe {
  std::string name;
  uint64_t seed = 1;
  EnvironmentSection environment;
  AgentOptions agent;
  Config objective;                                                // resolved, with name and positives; `none`: a bare word
  std::shared_ptr<const ObjectiveOptions> objective_options = {};  // null where there is none
  int64_t positives = 0;                                           // crops that an anchor is compared with; 0 without an objective
  ReplayOptions replay;
  AgentTrainOptions train;
  AgentEvaluateOptions evaluate;
  std::string output;
  Config expected;
  std::shared_ptr<const Task> own_task;  // of a program that brings one of its own, in place of the one with the name

  const Task& task() const;
  int64_t action_repeat() const;
  std::unique_ptr<Objective> make_objective() const { return objective_options == nullptr ? nullptr : objective_options->make(); }
};

// The sections, for what lists and documents them; read_agent_recipe() accepts these and no others.
const std::vector<RecipeSection>& agent_sections();

// Names of the objectives that an agent may have: they compare anchors with keys, without labels.
std::vector<std::string> agent_objectives();

// Usage errors in one line that name file, line and key.
AgentRecipe read_agent_recipe(const Config& root);

// Every default written out; a valid recipe again.
Config resolved(const AgentRecipe& recipe);

}  // namespace debias
