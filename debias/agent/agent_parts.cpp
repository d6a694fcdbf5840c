#include "debias/agent/agent_parts.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "debias/control/task.h"
#include "debias/core/error.h"

namespace debias {
namespace {

constexpr double kMegabyte = 1e6;
constexpr int64_t kLeastSpare = 1000;

int64_t steps_of(const AgentRecipe& recipe) {
  const int64_t repeat = recipe.action_repeat(), control = recipe.train.epochs() * recipe.train.control_steps();
  const int64_t episodes = control / kControlSteps + 1;  // the last step of an episode may be a short one
  return (control + repeat - 1) / repeat + episodes;
}

}  // namespace

EnvironmentOptions environment_options(const AgentRecipe& recipe, Episodes episodes) {
  return {.task = &recipe.task(),
          .repeat = recipe.action_repeat(),
          .pixels = recipe.environment.pixels(),
          .stack = recipe.environment.stack(),
          .look = recipe.environment.look(),
          .seed = recipe.seed,
          .episodes = episodes};
}

BatchShape batch_shape(const AgentRecipe& recipe, int64_t actions) {
  return {.batch_size = recipe.agent.batch_size(),
          .channels = 3 * recipe.environment.stack(),
          .pixels = recipe.environment.pixels(),
          .crop = recipe.agent.crop(),
          .positives = recipe.positives,
          .actions = actions,
          .seed = recipe.seed};
}

NetworkShape network_shape(const AgentRecipe& recipe, int64_t actions) {
  return {.channels = 3 * recipe.environment.stack(),
          .pixels = recipe.agent.crop(),
          .filters = recipe.agent.filters(),
          .features = recipe.agent.features(),
          .hidden = recipe.agent.hidden(),
          .actions = actions};
}

ReplayShape replay_shape(const AgentRecipe& recipe, int64_t actions) {
  ReplayShape shape{.picture_bytes = 3 * recipe.environment.pixels() * recipe.environment.pixels(),
                    .stack = recipe.environment.stack(),
                    .actions = actions};
  const int64_t steps = steps_of(recipe), per_episode = (kControlSteps + recipe.action_repeat() - 1) / recipe.action_repeat();
  const auto pictures = [&](int64_t transitions) { return transitions + 2 * (transitions / per_episode + 2) + shape.stack; };
  shape.capacity = std::min(recipe.replay.capacity(), steps);
  if (const auto megabytes = recipe.replay.megabytes()) {
    const auto most = static_cast<int64_t>(*megabytes * kMegabyte / static_cast<double>(shape.picture_bytes));
    if (most < pictures(recipe.agent.batch_size()) + 2 * kLeastSpare && most < pictures(steps)) {
      throw usage_error(
          "replay: {} MB hold {} frames of {} bytes, too few to learn from; raise replay.megabytes, or lower environment.pixels",
          *megabytes, most, shape.picture_bytes);
    }
    while (shape.capacity > 1 &&
           pictures(shape.capacity) + (shape.capacity < steps ? std::max(2 * kLeastSpare, shape.capacity / 5) : 0) > most) {
      shape.capacity -= std::max<int64_t>(1, shape.capacity / 100);
    }
  }
  shape.window = pictures(shape.capacity);
  if (shape.capacity < steps) shape.spare = std::max(2 * kLeastSpare, shape.capacity / 5);
  return shape;
}

Agent make_agent(const AgentRecipe& recipe, int64_t actions) {
  return Agent(AgentNetworks(network_shape(recipe, actions), recipe.agent.temperature(), recipe.seed), recipe.agent,
               recipe.make_objective());
}

EvaluatedReturns evaluate_agent(const Agent& agent, EnvironmentThread& environments, const BatchShape& shape, int64_t episodes,
                                const std::function<void(Environments&, const EvaluatedState&)>& each_step) {
  EvaluatedReturns evaluated;
  std::vector<uint8_t> seen;
  for (int64_t episode = 0; episode < episodes; ++episode) {
    EvaluatedState state{.episode = episode};
    environments.now([&](Environments& all) {
      all.evaluated.begin(episode);
      seen = all.evaluated.observation();
      if (each_step) each_step(all, state);
    });
    for (EnvironmentStep step; !step.is_last && !step.diverged;) {
      const at::Tensor action = agent.act(centre_crop(seen, shape));
      environments.now([&](Environments& all) {
        step = all.evaluated.step({action.data_ptr<float>(), static_cast<size_t>(action.numel())});
        if (step.diverged) return;
        seen = all.evaluated.observation();
        state.control_step += step.control_steps;
        state.reward += step.reward;
        if (each_step) each_step(all, state);
      });
      if (step.diverged) ++evaluated.diverged;
    }
    evaluated.returns.push_back(state.reward);
  }
  return evaluated;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation_of(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

}  // namespace debias
