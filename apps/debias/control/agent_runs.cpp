#include "apps/debias/agent_runs.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "apps/debias/control/drawing_threads.h"
#include "apps/debias/results.h"
#include "debias/agent/agent_plan.h"
#include "debias/agent/agent_training.h"
#include "debias/control/task.h"
#include "debias/core/paths.h"
#include "debias/process/terminal.h"
#include "debias/runs/recipe_lookup.h"
#include "debias/runtime/device.h"

namespace debias {

int train_agent_as(const Config& recipe, RunControl control, AgentTrainMode mode) {
  AgentInput input{std::move(control), read_agent_recipe(recipe)};
  use_threads(input.recipe.train.threads);
  if (mode.dry_run) {
    const Config all = resolved(input.recipe);
    mode.json ? print_json({{"config", all.to_json()}}) : print_lines(all.to_yaml() + "\n");
    return 0;
  }
  if (input.existing == ExistingFolder::kOverwrite) refuse_emptying(input.recipe.output, files_named_in(recipe));
  draw_in_one_thread();
  const auto progress = terminal_progress();
  const auto log = terminal_log();
  input.progress = progress.get();
  input.log = log.get();
  const AgentResult result = train_agent(input);
  print_outcome({result.folder, result.epochs, result.already_finished, result.seconds, result.metrics}, mode.json,
                {{"diverged", result.diverged}});
  if (!mode.json && result.diverged > 0) fmt::print("  {} episodes ended in a non-finite state\n", result.diverged);
  return 0;
}

Config resolved_agent(const Config& recipe) { return resolved(read_agent_recipe(recipe)); }

CheckedPoint planned_agent(const Config& recipe, const SweepCheckOptions& options, std::set<std::string>& made) {
  AgentRecipe agent = read_agent_recipe(recipe);
  if (options.threads > 0 && !agent.train.threads) agent.train.threads = options.threads;
  AgentPlan plan = plan_agent(agent);
  draw_in_one_thread();
  if (options.timed) {
    use_threads(agent.train.threads);
    time_steps(agent, plan);
  } else if (made.insert(recipe.find("environment")->to_yaml()).second) {
    try_environments(agent);
  }
  return {{}, plan.epochs, plan.steps_per_epoch, plan.seconds_per_epoch};
}

ListedAgents listed_agents() {
  ListedAgents agents{agent_sections(), {}, agent_metrics()};
  for (const Task& task : task_registry()) agents.tasks.push_back({task.name, task.summary, {}});
  return agents;
}

}  // namespace debias
