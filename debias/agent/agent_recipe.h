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
struct EnvironmentSection {
  std::string task = "";
  Auto<int64_t> action_repeat = {};
  int64_t pixels = 100;
  int64_t stack = 3;
  Look look = Look::kFull;
  void describe(OptionVisitor& o);
};

struct AgentOptions {
  int64_t crop = 84;
  int64_t filters = 32;
  int64_t features = 50;
  int64_t hidden = 1024;
  int64_t batch_size = 128;
  double discount = 0.99;
  double learning_rate = 1e-3;
  double temperature = 0.1;
  double temperature_learning_rate = 1e-4;
  double head_rate = 0.01;
  double encoder_rate = 0.05;
  int64_t actor_every = 2;
  int64_t target_every = 2;
  int64_t random_steps = 1000;
  void describe(OptionVisitor& o);
};

struct ReplayOptions {
  int64_t capacity = 100000;
  Auto<double> megabytes = {};
  void describe(OptionVisitor& o) {
    o("capacity", capacity, Range::at_least(1), "maximum number of transitions; the oldest are dropped");
    o("megabytes", megabytes, Range::above(0), "maximum size of their frames on disk, which bounds the capacity");
  }
};

struct AgentTrainOptions {
  int64_t epochs = 10;
  int64_t control_steps = 10000;
  Auto<int64_t> threads = {};
  double checkpoint_every = 0;
  int64_t log_every = 100;
  OnFullDisk on_full_disk = OnFullDisk::kStop;
  void describe(OptionVisitor& o) {
    o("epochs", epochs, Range::at_least(1), "number of epochs of `control_steps` each");
    o("control_steps", control_steps, Range::at_least(1), "environment steps per epoch, including action repeats");
    o("threads", threads, Range::at_least(1), "threads of torch; auto: one for each processor");
    o("checkpoint_every", checkpoint_every, Range::at_least(0), "seconds between checkpoints within an epoch (0: none)");
    o("log_every", log_every, Range::at_least(1), "number of updates between two step lines of metrics.jsonl");
    o("on_full_disk", on_full_disk, "reaction to a full disk: stop the run, or wait for space and retry every minute");
  }
};

inline constexpr const char* kReturnMean = "test.return_mean";  // of the evaluation episodes

struct AgentEvaluateOptions {
  int64_t every = 1;
  int64_t episodes = 10;
  std::string select = "";
  void describe(OptionVisitor& o);
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
