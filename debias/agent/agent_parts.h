// Parts of a run, built from its recipe: shapes, networks, environments.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "debias/agent/agent.h"
#include "debias/agent/agent_recipe.h"
#include "debias/agent/batches.h"
#include "debias/agent/environment_thread.h"
#include "debias/agent/replay.h"

namespace debias {

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

}  // namespace debias
