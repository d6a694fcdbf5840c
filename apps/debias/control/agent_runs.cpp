#include "apps/debias/agent_runs.h"

#include "apps/debias/control/drawing_threads.h"
#include "debias/agent/agent_plan.h"
#include "debias/agent/agent_recipe.h"
#include "debias/runtime/threads.h"

namespace debias {

Config resolved_agent(const Config& recipe) { return resolved(read_agent_recipe(recipe)); }

CheckedPoint planned_agent(const Config& recipe, const SweepCheckOptions& options, std::set<std::string>& made) {
  AgentRecipe agent = read_agent_recipe(recipe);
  if (options.threads > 0 && !agent.train.threads()) agent.train.threads(options.threads);
  AgentPlan plan = plan_agent(agent);
  draw_in_one_thread();
  if (options.timed) {
    use_threads(agent.train.threads());
    time_steps(agent, plan);
  } else if (made.insert(recipe.find("environment")->to_yaml()).second) {
    try_environments(agent);
  }
  return {{}, plan.epochs, plan.steps_per_epoch, plan.seconds_per_epoch};
}

}  // namespace debias
