#include "debias/agent/agent_metrics.h"

namespace debias {

std::vector<Metric> agent_metrics() {
  const auto number = [](const char* name, const char* title, Better better = Better::kNeither, Standing standing = Standing::kTraining) {
    return Metric{name, title, Unit::kNumber, better, standing};
  };
  return {number("return_mean", "mean evaluation return", Better::kHigher, Standing::kAccuracy),
          number("return_std", "standard deviation of evaluation returns"),
          number("episode_return", "mean training return"),
          number("critic_loss", "critic loss", Better::kLowerOfOneObjective),
          number("actor_loss", "actor loss", Better::kLowerOfOneObjective),
          number("contrastive_loss", "contrastive loss", Better::kLowerOfOneObjective),
          number("entropy", "policy entropy, nats"),
          number("temperature", "entropy temperature"),
          number("control_steps", "control steps"),
          number("diverged", "diverged episodes")};
}

}  // namespace debias
