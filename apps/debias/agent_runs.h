// Runs of agents: how they are trained, and what a sweep checks before the first is started. In a program that was built without MuJoCo or
// EGL every function is a usage error that says what to do (no_control/).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "debias/core/config.h"
#include "debias/results/metric.h"
#include "debias/runs/sweep_check.h"
#include "debias/train/loop/training_loop.h"
#include "debias/train/recipe/recipe_sections.h"

namespace debias {

struct AgentTrainMode {
  bool dry_run = false;  // prints the resolved recipe alone
  bool json = false;
};

// `debias rl train`, and `debias train` of an agent's recipe: returns the exit code. Shows progress and log in the terminal.
int train_agent_as(const Config& recipe, RunControl control, AgentTrainMode mode);

// As AgentChecks has them.
Config resolved_agent(const Config& recipe);
CheckedPoint planned_agent(const Config& recipe, const SweepCheckOptions& options, std::set<std::string>& made);

// What `debias list` shows of agents; empty in a program without them.
struct ListedAgents {
  std::vector<RecipeSection> sections, tasks;
  std::vector<Metric> metrics;
};
ListedAgents listed_agents();

}  // namespace debias
