// Checkpoints of an agent: weights, optimizers and what the replay knows of its pictures as tensors; recipe and state as metadata.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "debias/agent/agent.h"
#include "debias/agent/agent_state.h"
#include "debias/agent/replay.h"
#include "debias/core/progress.h"
#include "debias/train/checkpoint.h"

namespace debias {

struct AgentCheckpoint {
  OpenCheckpoint common;
  AgentState state;
};

// The newest whole one of a run (train/checkpoint.h); a data error where it is not an agent's.
std::optional<AgentCheckpoint> open_newest_agent(const std::string& folder, Log& log);

// `actions`: of the episode under way, from its first step on. Without a replay (of a run that is finished) neither is kept.
struct SavedAgent {
  const Agent& agent;
  Replay* replay;
  const std::vector<float>& actions;
};
void save_agent(const std::string& folder, const SavedAgent& saved, const TrainingState& common, const AgentState& state,
                const std::string& recipe_yaml);

// Of the episode under way.
std::vector<float> saved_actions(const SafetensorsFile& file, int64_t actions_per_step);

}  // namespace debias
