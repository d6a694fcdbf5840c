#include "apps/debias/agent_runs.h"

#include "debias/core/error.h"

namespace debias {
namespace {

Error without_control() {
  return usage_error(
      "its runs are of agents, and this program was built without MuJoCo or EGL; run scripts/bootstrap.sh --rl, then build again");
}

}  // namespace

Config resolved_agent(const Config&) { throw without_control(); }

CheckedPoint planned_agent(const Config&, const SweepCheckOptions&, std::set<std::string>&) { throw without_control(); }

}  // namespace debias
