#include "debias/agent/agent_parts.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "debias/control/task.h"
#include "debias/core/error.h"
#include "debias/train/state_numbers.h"

namespace debias {
namespace {

constexpr double kMegabyte = 1e6;
constexpr int64_t kLeastSpare = 1000;

int64_t steps_of(const AgentRecipe& recipe) {
  const int64_t repeat = recipe.action_repeat(), control = recipe.train.epochs * recipe.train.control_steps;
  const int64_t episodes = control / kControlSteps + 1;  // the last step of an episode may be a short one
  return (control + repeat - 1) / repeat + episodes;
}

}  // namespace

EnvironmentOptions environment_options(const AgentRecipe& recipe, Episodes episodes) {
  return {.task = &recipe.task(),
          .repeat = recipe.action_repeat(),
          .pixels = recipe.environment.pixels,
          .stack = recipe.environment.stack,
          .look = recipe.environment.look,
          .seed = recipe.seed,
          .episodes = episodes};
}

BatchShape batch_shape(const AgentRecipe& recipe, int64_t actions) {
  return {.batch_size = recipe.agent.batch_size,
          .channels = 3 * recipe.environment.stack,
          .pixels = recipe.environment.pixels,
          .crop = recipe.agent.crop,
          .positives = recipe.positives,
          .actions = actions,
          .seed = recipe.seed};
}

NetworkShape network_shape(const AgentRecipe& recipe, int64_t actions) {
  return {.channels = 3 * recipe.environment.stack,
          .pixels = recipe.agent.crop,
          .filters = recipe.agent.filters,
          .features = recipe.agent.features,
          .hidden = recipe.agent.hidden,
          .actions = actions};
}

ReplayShape replay_shape(const AgentRecipe& recipe, int64_t actions) {
  ReplayShape shape{
      .picture_bytes = 3 * recipe.environment.pixels * recipe.environment.pixels, .stack = recipe.environment.stack, .actions = actions};
  const int64_t steps = steps_of(recipe), per_episode = (kControlSteps + recipe.action_repeat() - 1) / recipe.action_repeat();
  const auto pictures = [&](int64_t transitions) { return transitions + 2 * (transitions / per_episode + 2) + shape.stack; };
  shape.capacity = std::min(recipe.replay.capacity, steps);
  if (const auto megabytes = recipe.replay.megabytes) {
    const auto most = static_cast<int64_t>(*megabytes * kMegabyte / static_cast<double>(shape.picture_bytes));
    if (most < pictures(recipe.agent.batch_size) + 2 * kLeastSpare && most < pictures(steps)) {
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
  return Agent(AgentNetworks(network_shape(recipe, actions), recipe.agent.temperature, recipe.seed), recipe.agent, recipe.make_objective());
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

EnvironmentThread::EnvironmentThread(const EnvironmentOptions& trained, const EnvironmentOptions& evaluated) {
  auto made = std::make_shared<std::promise<void>>();
  thread_ = std::thread([this, trained, evaluated, made] { serve(trained, evaluated, *made); });
  try {
    made->get_future().get();
  } catch (...) {
    thread_.join();
    throw;
  }
}

EnvironmentThread::~EnvironmentThread() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

std::future<void> EnvironmentThread::later(std::function<void(Environments&)> work) {
  std::packaged_task<void(Environments&)> task(std::move(work));
  std::future<void> done = task.get_future();
  {
    const std::lock_guard lock(mutex_);
    tasks_.push(std::move(task));
  }
  wake_.notify_one();
  return done;
}

void EnvironmentThread::serve(const EnvironmentOptions& trained, const EnvironmentOptions& evaluated, std::promise<void>& made) {
  bool is_made = false;
  try {
    const EglContext context;
    PixelEnvironment first(trained), second(evaluated);
    Environments environments{first, second, context.renderer()};
    is_made = true;
    made.set_value();
    work_until_ended(environments);
  } catch (...) {
    if (!is_made) made.set_exception(std::current_exception());
  }
}

void EnvironmentThread::work_until_ended(Environments& environments) {
  while (true) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return ended_ || !tasks_.empty(); });
    if (ended_) return;
    auto task = std::move(tasks_.front());
    tasks_.pop();
    lock.unlock();
    task(environments);
  }
}

void RunningMeans::add(const std::string& name, double value) {
  if (std::isnan(value)) return;
  auto found = std::find_if(sums_.begin(), sums_.end(), [&](const Sum& sum) { return sum.name == name; });
  if (found == sums_.end()) found = sums_.insert(sums_.end(), {name});
  found->sum += value;
  ++found->count;
}

std::vector<std::pair<std::string, double>> RunningMeans::means() const {
  std::vector<std::pair<std::string, double>> all;
  for (const auto& sum : sums_) all.emplace_back(sum.name, sum.sum / static_cast<double>(sum.count));
  return all;
}

nlohmann::ordered_json RunningMeans::to_json() const {
  auto json = nlohmann::ordered_json::array();
  for (const auto& sum : sums_) json.push_back({{"name", sum.name}, {"sum", sum.sum}, {"count", sum.count}});
  return json;
}

RunningMeans RunningMeans::from_json(const nlohmann::ordered_json& json) {
  RunningMeans means;
  for (const auto& sum : json) means.sums_.push_back({sum.at("name").get<std::string>(), number_at(sum, "sum"), count_at(sum, "count")});
  return means;
}

nlohmann::ordered_json AgentState::to_json() const {
  return {{"control_steps", control_steps},
          {"episode", episode},
          {"episode_return", episode_return},
          {"diverged", diverged},
          {"means", means.to_json()},
          {"renderer", renderer},
          {"mujoco", mujoco}};
}

AgentState AgentState::from_json(const nlohmann::ordered_json& json) {
  return {.control_steps = count_at(json, "control_steps"),
          .episode = count_at(json, "episode"),
          .episode_return = number_at(json, "episode_return"),
          .diverged = count_at(json, "diverged"),
          .means = RunningMeans::from_json(json.at("means")),
          .renderer = json.at("renderer").get<std::string>(),
          .mujoco = json.at("mujoco").get<std::string>()};
}

AgentState agent_state_of(const OpenCheckpoint& checkpoint) {
  const std::string& path = checkpoint.file.path();
  const auto found = checkpoint.file.metadata().find(kAgentStateKey);
  if (found == checkpoint.file.metadata().end()) {
    throw data_error("opening checkpoint '{}': it is not an agent checkpoint; use debias train and debias eval", path);
  }
  try {
    return AgentState::from_json(nlohmann::ordered_json::parse(found->second));
  } catch (const nlohmann::json::exception& error) {
    throw data_error("opening checkpoint '{}': its state cannot be read ({})", path, error.what());
  }
}

}  // namespace debias
