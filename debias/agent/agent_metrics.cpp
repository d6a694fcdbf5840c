#include "debias/agent/agent_metrics.h"

namespace debias {

std::vector<Metric> agent_metrics() {
  const auto number = [](const char* name, const char* title, Better better = Better::kNeither, Standing standing = Standing::kTraining) {
    return Metric{name, title, Unit::kNumber, better, standing};
  };
  return {number("return_mean", "return of evaluation episodes", Better::kHigher, Standing::kAccuracy),
          number("return_std", "standard deviation of evaluation episodes"),
          number("episode_return", "return of training episodes"),
          number("critic_loss", "critic's loss", Better::kLowerOfOneObjective),
          number("actor_loss", "actor's loss", Better::kLowerOfOneObjective),
          number("contrastive_loss", "contrastive loss", Better::kLowerOfOneObjective),
          number("entropy", "entropy of the policy in nats"),
          number("temperature", "entropy temperature"),
          number("control_steps", "control steps"),
          number("diverged", "episodes without a finite end")};
}

}  // namespace debias
