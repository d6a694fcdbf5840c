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

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "debias/control/pixel_environment.h"
#include "debias/core/config.h"
#include "debias/core/options.h"
#include "debias/losses/objective.h"
#include "debias/train/recipe/recipe.h"
#include "debias/train/recipe/recipe_sections.h"

namespace debias {

// The options of an agent, by section of its recipe.
class EnvironmentSection {
 public:
  DEBIAS_OPTION(EnvironmentSection, std::string, task, "")
  DEBIAS_OPTION(EnvironmentSection, Auto<int64_t>, action_repeat, {})
  DEBIAS_OPTION(EnvironmentSection, int64_t, pixels, 100)
  DEBIAS_OPTION(EnvironmentSection, int64_t, stack, 3)
  DEBIAS_OPTION(EnvironmentSection, Look, look, Look::kFull)
  static const OptionTable<EnvironmentSection>& table();
};

class AgentOptions {
 public:
  DEBIAS_OPTION(AgentOptions, int64_t, crop, 84)
  DEBIAS_OPTION(AgentOptions, int64_t, filters, 32)
  DEBIAS_OPTION(AgentOptions, int64_t, features, 50)
  DEBIAS_OPTION(AgentOptions, int64_t, hidden, 1024)
  DEBIAS_OPTION(AgentOptions, int64_t, batch_size, 128)
  DEBIAS_OPTION(AgentOptions, double, discount, 0.99)
  DEBIAS_OPTION(AgentOptions, double, learning_rate, 1e-3)
  DEBIAS_OPTION(AgentOptions, double, temperature, 0.1)
  DEBIAS_OPTION(AgentOptions, double, temperature_learning_rate, 1e-4)
  DEBIAS_OPTION(AgentOptions, double, head_rate, 0.01)
  DEBIAS_OPTION(AgentOptions, double, encoder_rate, 0.05)
  DEBIAS_OPTION(AgentOptions, int64_t, actor_every, 2)
  DEBIAS_OPTION(AgentOptions, int64_t, target_every, 2)
  DEBIAS_OPTION(AgentOptions, int64_t, random_steps, 1000)
  static const OptionTable<AgentOptions>& table();
};

class ReplayOptions {
 public:
  DEBIAS_OPTION(ReplayOptions, int64_t, capacity, 100000)
  DEBIAS_OPTION(ReplayOptions, Auto<double>, megabytes, {})
  static const OptionTable<ReplayOptions>& table();
};

class AgentTrainOptions {
 public:
  DEBIAS_OPTION(AgentTrainOptions, int64_t, epochs, 10)
  DEBIAS_OPTION(AgentTrainOptions, int64_t, control_steps, 10000)
  DEBIAS_OPTION(AgentTrainOptions, Auto<int64_t>, threads, {})
  DEBIAS_OPTION(AgentTrainOptions, double, checkpoint_every, 0)
  DEBIAS_OPTION(AgentTrainOptions, int64_t, log_every, 100)
  DEBIAS_OPTION(AgentTrainOptions, OnFullDisk, on_full_disk, OnFullDisk::kStop)
  static const OptionTable<AgentTrainOptions>& table();
};

inline constexpr const char* kReturnMean = "test.return_mean";  // of the evaluation episodes

class AgentEvaluateOptions {
 public:
  DEBIAS_OPTION(AgentEvaluateOptions, int64_t, every, 1)
  DEBIAS_OPTION(AgentEvaluateOptions, int64_t, episodes, 10)
  DEBIAS_OPTION(AgentEvaluateOptions, std::string, select, "")
  static const OptionTable<AgentEvaluateOptions>& table();
};

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
