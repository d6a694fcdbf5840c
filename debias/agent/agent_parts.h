// Parts of a run, built from its recipe: shapes, networks, environments.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <queue>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "debias/agent/agent.h"
#include "debias/agent/agent_recipe.h"
#include "debias/agent/replay.h"
#include "debias/control/pixel_environment.h"
#include "debias/train/state/checkpoint.h"

namespace debias {

// The environments of a run in a thread of their own, which alone may draw: they step while the networks learn.
struct Environments {
  PixelEnvironment& trained;  // in
  PixelEnvironment& evaluated;
  std::string renderer;
};

class EnvironmentThread {
 public:
  EnvironmentThread(const EnvironmentOptions& trained, const EnvironmentOptions& evaluated);  // throws what making them throws
  ~EnvironmentThread();
  EnvironmentThread(const EnvironmentThread&) = delete;
  EnvironmentThread& operator=(const EnvironmentThread&) = delete;

  // Runs `work` there, after earlier work; get() throws its exception. The objects that it refers to must live until then.
  std::future<void> later(std::function<void(Environments&)> work);
  void now(const std::function<void(Environments&)>& work) { later(work).get(); }

 private:
  void serve(const EnvironmentOptions& trained, const EnvironmentOptions& evaluated, std::promise<void>& made);
  void work_until_ended(Environments& environments);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::queue<std::packaged_task<void(Environments&)>> tasks_;
  bool ended_ = false;
  std::thread thread_;
};

EnvironmentOptions environment_options(const AgentRecipe& recipe, Episodes episodes);
BatchShape batch_shape(const AgentRecipe& recipe, int64_t actions);
NetworkShape network_shape(const AgentRecipe& recipe, int64_t actions);

// Capacity for the recipe's steps, at most its capacity and megabytes. A usage error if the megabytes cannot hold a batch.
ReplayShape replay_shape(const AgentRecipe& recipe, int64_t actions);

Agent make_agent(const AgentRecipe& recipe, int64_t actions);

// State of an evaluated episode.
struct EvaluatedState {
  int64_t episode = 0;
  int64_t control_step = 0;
  double reward = 0;  // undiscounted, up to here
};

// Returns of `episodes` episodes of the evaluated environment, with the policy's centre; `each_step` sees every state that is drawn, in the
// environments' thread.
struct EvaluatedReturns {
  std::vector<double> returns;  // undiscounted; of an episode that the simulation ended, up to there
  int64_t diverged = 0;         // episodes that the simulation ended early
};
EvaluatedReturns evaluate_agent(const Agent& agent, EnvironmentThread& environments, const BatchShape& shape, int64_t episodes,
                                const std::function<void(Environments&, const EvaluatedState&)>& each_step = {});

double mean_of(const std::vector<double>& values);
double deviation_of(const std::vector<double>& values);  // of a sample; 0 of one

// State of an agent's training, beside that of every training (train/training_state.h): JSON among a checkpoint's metadata.

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
