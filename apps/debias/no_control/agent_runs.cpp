#include "apps/debias/agent_runs.h"

#include "debias/core/error.h"

namespace debias {
namespace {

Error without_control(const char* what) {
  return usage_error(
      "{}, and this program was built without MuJoCo or EGL; build it where both are installed (in a checkout: scripts/bootstrap.sh --rl)",
      what);
}

}  // namespace

int train_agent_as(const Config&, RunControl, AgentTrainMode) { throw without_control("train: the recipe is one of an agent"); }

Config resolved_agent(const Config&) { throw without_control("its runs are of agents"); }

CheckedPoint planned_agent(const Config&, const SweepCheckOptions&, std::set<std::string>&) {
  throw without_control("its runs are agents'");
}

ListedAgents listed_agents() { return {}; }

}  // namespace debias
