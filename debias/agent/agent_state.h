// State of an agent's training, beside that of every training (train/training_state.h): JSON among a checkpoint's metadata.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "debias/train/state/checkpoint.h"

namespace debias {

// Sums over an epoch by name, with their counts; NaN is left out.
class RunningMeans {
 public:
  void add(const std::string& name, double value);
  std::vector<std::pair<std::string, double>> means() const;  // in order of their first number
  void clear() { sums_.clear(); }

  nlohmann::ordered_json to_json() const;
  static RunningMeans from_json(const nlohmann::ordered_json& json);

 private:
  struct Sum {
    std::string name;
    double sum = 0;
    int64_t count = 0;
  };
  std::vector<Sum> sums_;
};

struct AgentState {
  int64_t control_steps = 0;
  int64_t episode = 0;        // the one under way
  double episode_return = 0;  // so far
  int64_t diverged = 0;       // episodes that the simulation ended, in all
  RunningMeans means;         // over the epoch under way
  std::string renderer;       // that drew the images
  std::string mujoco;         // version

  nlohmann::ordered_json to_json() const;
  static AgentState from_json(const nlohmann::ordered_json& json);  // nlohmann's exceptions, and data errors
};

inline constexpr const char* kAgentStateKey = "debias.agent";

AgentState agent_state_of(const OpenCheckpoint& checkpoint);  // a data error if it is not an agent checkpoint

}  // namespace debias
