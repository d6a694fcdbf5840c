#include "debias/agent/agent_plan.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <future>

#include "debias/agent/agent_parts.h"

namespace debias {
namespace {

using PlanClock = std::chrono::steady_clock;

constexpr int64_t kUntimedSteps = 2, kTimedSteps = 4;  // even, since actor and target learn in every other step

// Random bytes suffice: the time of an update does not depend on the images.
AgentBatch noise_batch(const BatchShape& shape) {
  const auto pictures = [&](std::vector<int64_t> sizes) {
    for (const int64_t size : {shape.batch_size, shape.channels, shape.crop, shape.crop}) sizes.push_back(size);
    return at::randint(256, sizes, at::kByte);
  };
  const std::vector<int64_t> by_action = {shape.batch_size, shape.actions};
  return {.seen = pictures({}),
          .next = pictures({}),
          .positives = pictures({shape.positives}),
          .actions = at::rand(by_action, at::kFloat),
          .rewards = at::rand({shape.batch_size}, at::kFloat),
          .noise_next = at::randn(by_action, at::kFloat),
          .noise = at::randn(by_action, at::kFloat)};
}

// As training takes it.
void trial_step(Agent& agent, EnvironmentThread& environments, const AgentBatch& batch, const BatchShape& shape, std::vector<uint8_t>& seen,
                int64_t number) {
  const at::Tensor action = agent.act(centre_crop(seen, shape), action_noise(shape, number));
  auto moving = environments.later([&](Environments& all) {
    const EnvironmentStep moved = all.trained.step({action.data_ptr<float>(), static_cast<size_t>(action.numel())});
    if (moved.is_last || moved.diverged) all.trained.begin(number + 1);
    seen = all.trained.observation();
  });
  try {
    agent.update(batch, number);
  } catch (...) {
    moving.wait();  // it refers to this call's variables
    throw;
  }
  moving.get();
}

double seconds_per_step(const AgentRecipe& recipe) {
  EnvironmentThread environments(environment_options(recipe, Episodes::kTraining), environment_options(recipe, Episodes::kEvaluated));
  int64_t actions = 0;
  std::vector<uint8_t> seen;
  environments.now([&](Environments& all) {
    actions = all.trained.action_count();
    all.trained.begin(0);
    seen = all.trained.observation();
  });
  const BatchShape shape = batch_shape(recipe, actions);
  const AgentBatch batch = noise_batch(shape);
  Agent agent = make_agent(recipe, actions);
  int64_t number = 0;
  while (number < kUntimedSteps) trial_step(agent, environments, batch, shape, seen, number++);
  const auto start = PlanClock::now();
  while (number < kUntimedSteps + kTimedSteps) trial_step(agent, environments, batch, shape, seen, number++);
  return std::chrono::duration<double>(PlanClock::now() - start).count() / kTimedSteps;
}

}  // namespace

AgentPlan plan_agent(const AgentRecipe& recipe) {
  replay_shape(recipe, 1);  // rejects too little room, which does not depend on the actions
  const int64_t repeat = recipe.action_repeat();
  return {recipe.train.epochs, (recipe.train.control_steps + repeat - 1) / repeat, 0};
}

void try_environments(const AgentRecipe& recipe) {
  const EnvironmentThread made(environment_options(recipe, Episodes::kTraining), environment_options(recipe, Episodes::kEvaluated));
}

void time_steps(const AgentRecipe& recipe, AgentPlan& plan) {
  const int64_t learning = std::max<int64_t>(0, plan.epochs * plan.steps_per_epoch - recipe.agent.random_steps);
  plan.seconds_per_epoch = seconds_per_step(recipe) * static_cast<double>(learning) / static_cast<double>(plan.epochs);
}

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
