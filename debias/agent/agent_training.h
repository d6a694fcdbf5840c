// The training of an agent: recipe in, run folder out, as train/trainer.h has it for encoders.
//
// An epoch is so many control steps, an evaluation follows it. Same recipe, seed, thread count, MuJoCo and renderer: same weights and metric
// files, byte for byte, however often the run was stopped and resumed. An update of the networks and the environment's step that follows
// the action before it run side by side; neither sees the other's result.
#pragma once

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "debias/agent/agent_recipe.h"
#include "debias/core/progress.h"
#include "debias/train/run_folder.h"

namespace debias {

struct AgentInput {
  AgentRecipe recipe;
  ExistingFolder existing = ExistingFolder::kRefuse;
  const std::atomic<int>* stop_signal = nullptr;  // non-zero: checkpoint and stop
  std::atomic<bool>* all_saved = nullptr;         // true while all that was learnt is on disk
  std::atomic<bool>* begun = nullptr;             // set once there is a run that can be resumed
  Progress* progress = &Progress::silent();
  Log* log = &Log::silent();
};

struct AgentResult {
  std::string folder;
  int64_t epochs = 0;
  bool already_finished = false;
  std::vector<std::pair<std::string, double>> metrics;  // of the last epoch
  int64_t diverged = 0;                                 // episodes that the simulation ended
  double seconds = 0;
};

// Throws kInterrupted after a stop signal, with a checkpoint written.
AgentResult train_agent(const AgentInput& input);

}  // namespace debias
