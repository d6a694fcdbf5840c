// Cost of a recipe's run in advance; nothing is written.
#pragma once

#include <cstdint>
#include <vector>

#include "debias/agent/agent_recipe.h"
#include "debias/results/metric.h"

namespace debias {

struct AgentPlan {
  int64_t epochs = 0, steps_per_epoch = 0;  // of the agent
  double seconds_per_epoch = 0;             // the mean over the run, evaluations not counted; 0 until steps are timed
};

// Usage errors: the replay has too little room for a batch.
AgentPlan plan_agent(const AgentRecipe& recipe);

// Makes the run's environments and lets go of them: throws what training would.
void try_environments(const AgentRecipe& recipe);

// Times some steps of the kind that learns, environment and update side by side. The random steps at a run's start count as no time.
void time_steps(const AgentRecipe& recipe, AgentPlan& plan);

// Metrics that the training of an agent writes into metrics.jsonl.
std::vector<Metric> agent_metrics();

}  // namespace debias
