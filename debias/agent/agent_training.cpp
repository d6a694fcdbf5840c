#include "debias/agent/agent_training.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "debias/agent/agent_parts.h"
#include "debias/control/task.h"
#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/human_units.h"
#include "debias/encoders/state.h"
#include "debias/train/loop/training.h"

namespace debias {
namespace {

using AgentClock = std::chrono::steady_clock;

constexpr const char* kActionsName = "episode.actions";

// Of the episode under way.
std::vector<float> saved_actions(const SafetensorsFile& file, int64_t actions_per_step) {
  const TensorEntry* entry = file.find(kActionsName);
  if (entry == nullptr) throw data_error("'{}': tensor '{}' is missing", file.path(), kActionsName);
  const at::Tensor tensor = read_tensor(file, *entry);
  if (tensor.scalar_type() != at::kFloat || tensor.dim() != 1 || tensor.numel() % actions_per_step != 0) {
    throw data_error("'{}': tensor '{}' does not contain actions of {} numbers each", file.path(), kActionsName, actions_per_step);
  }
  return {tensor.data_ptr<float>(), tensor.data_ptr<float>() + tensor.numel()};
}

std::string pictures_in(const std::string& folder) { return folder + "/replay.pictures"; }

// Steps per second over the last 10 to 20 seconds.
class Speed {
 public:
  explicit Speed(int64_t step) : older_{AgentClock::now(), step}, newer_(older_) {}

  double at(int64_t step) {
    if (seconds_from(newer_) > 10) {
      older_ = newer_;
      newer_ = {AgentClock::now(), step};
    }
    return static_cast<double>(step - older_.step) / seconds_from(older_);
  }

 private:
  struct Mark {
    AgentClock::time_point time;
    int64_t step = 0;
  };
  static double seconds_from(const Mark& mark) { return std::chrono::duration<double>(AgentClock::now() - mark.time).count(); }

  Mark older_, newer_;
};

// Agent and environment, built before the run's folder, so that a failure to draw or allocate leaves no folder.
struct AgentParts {
  explicit AgentParts(const AgentRecipe& recipe)
      : environments(environment_options(recipe, Episodes::kTraining), environment_options(recipe, Episodes::kEvaluated)),
        actions(actions_of_task()),
        shape(batch_shape(recipe, actions)),
        replay(replay_that_fits(recipe)),
        agent(make_agent(recipe, actions)) {
    environments.now([this](Environments& all) { renderer = all.renderer; });
  }

  EnvironmentThread environments;
  int64_t actions;
  BatchShape shape;
  ReplayShape replay;
  Agent agent;
  std::string renderer;

 private:
  int64_t actions_of_task() {
    int64_t count = 0;
    environments.now([&](Environments& all) { count = all.trained.action_count(); });
    return count;
  }

  ReplayShape replay_that_fits(const AgentRecipe& recipe) const {
    const ReplayShape fits = replay_shape(recipe, actions);
    require_room(pictures_in(recipe.output), fits);
    return fits;
  }
};

// The returns of the evaluation episodes.
class ReturnsOfEpisodes final : public EpochObserver {
 public:
  ReturnsOfEpisodes(const AgentRecipe& recipe, AgentParts& parts, RunAccess& run) : recipe_(recipe), parts_(parts), run_(run) {}

  bool is_due(int64_t epoch, int64_t epochs) const override { return epoch == epochs || epoch % recipe_.evaluate.every == 0; }

  Metrics after_epoch(int64_t /*epoch*/, int64_t /*epochs*/) override {
    const int64_t episodes = recipe_.evaluate.episodes, whole = episodes * kControlSteps;
    run_.progress.begin("evaluation", whole);
    int64_t done = 0;
    const EvaluatedReturns evaluated =
        evaluate_agent(parts_.agent, parts_.environments, parts_.shape, episodes, [&](Environments&, const EvaluatedState& state) {
          run_.progress.advance(std::min(++done * recipe_.action_repeat(), whole), fmt::format("episode {}", state.episode + 1));
        });
    run_.progress.end();
    if (evaluated.diverged > 0) {
      run_.log.warn(fmt::format("{} of {} evaluation episodes ended in a non-finite state; their returns count up to it",
                                evaluated.diverged, episodes));
    }
    return {{kReturnMean, mean_of(evaluated.returns)},
            {"test.return_std", deviation_of(evaluated.returns)},
            {"test.diverged", static_cast<double>(evaluated.diverged)}};
  }

 private:
  const AgentRecipe& recipe_;
  AgentParts& parts_;
  RunAccess& run_;
};

class AgentTraining final : public Training {
 public:
  explicit AgentTraining(const AgentRecipe& recipe) : recipe_(recipe) {}

  int64_t diverged() const { return own_.diverged; }

  void build() override { parts_.emplace(recipe_); }

  void begin(RunAccess& run, const OpenCheckpoint* checkpoint) override {
    run_ = &run;
    returns_.emplace(recipe_, *parts_, run);
    const std::string pictures = pictures_in(run.folder);
    if (checkpoint == nullptr) std::filesystem::remove(pictures);
    replay_.emplace(pictures, parts_->replay);
    if (checkpoint != nullptr) return restore_from(*checkpoint);
    own_.renderer = parts_->renderer;
    own_.mujoco = mujoco_version();
    describe_environment();
    begin_episode();
  }

  void announce() const override { run_->log.note(fmt::format("MuJoCo {}, drawn by {}", own_.mujoco, own_.renderer)); }

  std::vector<EpochObserver*> observers() override { return {&*returns_}; }

  void begin_epoch() override {
    first_step_ = run_->state.step;
    begin_task();
  }

  bool next(const StepOrders& /*own*/) override {
    if (own_.control_steps >= (run_->state.epoch + 1) * recipe_.train.control_steps) return false;
    if (task_is_random_ && learns()) begin_task();
    return true;
  }

  void step() override {
    live_one_step();
    report_progress();
  }

  bool needs_save() const override { return parts_->replay.spare > 0 && replay_->unsaved() >= parts_->replay.spare / 2; }

  Metrics epoch_metrics() const override {
    Metrics metrics = {{"control_steps", static_cast<double>(own_.control_steps)}};
    for (auto& mean : own_.means.means()) metrics.push_back(std::move(mean));
    metrics.emplace_back("diverged", static_cast<double>(own_.diverged));
    return metrics;
  }

  void end_epoch(const Metrics& /*metrics*/) override { own_.means.clear(); }

  void end(const std::string& folder) override {
    replay_.reset();
    std::filesystem::remove(pictures_in(folder));
  }

  // Random steps take no update, and say nothing of those to come.
  std::optional<RunProgress> progress() const override {
    if (!learns()) return std::nullopt;
    return RunProgress{own_.control_steps, recipe_.train.epochs * recipe_.train.control_steps};
  }

  Counted counted() const override { return {run_->state.step - first_step_, "agent_steps"}; }
  std::string speed_text(double per_second) const override { return fmt::format("{:.1f} agent steps/s", per_second); }

  NamedTensors weights() const override { return parts_->agent.state(); }

  NamedTensors tensors() override {
    NamedTensors named = weights();
    if (run_->state.finished) return named;  // nothing is learnt from the replay any more
    for (auto& entry : replay_->state()) named.push_back(std::move(entry));
    named.emplace_back(kActionsName, at::tensor(episode_actions_, at::kFloat));
    return named;
  }

  Metadata metadata() const override { return {{kAgentStateKey, json_text(own_.to_json())}}; }

 private:
  // Sources of the images and the physics, beside every run's record of its machine.
  void describe_environment() const {
    const std::string path = run_->folder + "/environment.json";
    std::ifstream file(path);
    auto json = nlohmann::ordered_json::parse(file);
    json["mujoco"] = own_.mujoco;
    json["renderer"] = own_.renderer;
    write_file_atomically(path, json.dump(2) + "\n");
  }

  void restore_from(const OpenCheckpoint& checkpoint) {
    own_ = agent_state_of(checkpoint);
    if (own_.mujoco != mujoco_version() || own_.renderer != parts_->renderer) {
      throw usage_error(
          "resuming '{}': it ran on MuJoCo {} drawn by {}, here are {} and {}; resume on the same, or start again with --overwrite",
          recipe_.output, own_.mujoco, own_.renderer, mujoco_version(), parts_->renderer);
    }
    parts_->agent.load(checkpoint.file);
    replay_->load(checkpoint.file);
    episode_actions_ = saved_actions(checkpoint.file, parts_->actions);
    parts_->environments.now([this](Environments& all) { live_again(all.trained); });
  }

  // The episode under way is its actions: the simulation comes to the same state by them.
  void live_again(PixelEnvironment& environment) {
    environment.begin(own_.episode);
    for (size_t i = 0; i < episode_actions_.size(); i += static_cast<size_t>(parts_->actions)) {
      environment.step({episode_actions_.data() + i, static_cast<size_t>(parts_->actions)});
    }
    const auto picture = environment.frame();
    if (std::memcmp(picture.data(), replay_->newest_picture(), picture.size()) != 0) {
      throw data_error("resuming '{}': the current episode does not reach the frame at which it stopped; start again with --overwrite",
                       recipe_.output);
    }
    seen_ = environment.observation();
  }

  void begin_episode() {
    parts_->environments.now([this](Environments& all) {
      all.trained.begin(own_.episode);
      seen_ = all.trained.observation();
      replay_->begin_episode(all.trained.frame());
    });
    episode_actions_.clear();
    own_.episode_return = 0;
  }

  // Without a transition, as where every episode so far diverged in its first step, there is nothing to learn from yet.
  bool learns() const { return run_->state.step >= recipe_.agent.random_steps && replay_->size() > 0; }

  void begin_task() {
    task_is_random_ = !learns();
    speed_.emplace(run_->state.step);
    run_->progress.begin(fmt::format("epoch {}/{}{}", run_->state.epoch + 1, recipe_.train.epochs, task_is_random_ ? ", random steps" : ""),
                         task_size());
  }

  int64_t steps_before_epoch() const { return run_->state.epoch * recipe_.train.control_steps; }

  // Control steps of the epoch, or those of them that are random.
  int64_t task_size() const {
    if (!task_is_random_) return recipe_.train.control_steps;
    const int64_t random = recipe_.agent.random_steps * recipe_.action_repeat() - steps_before_epoch();
    return std::clamp<int64_t>(random, 1, recipe_.train.control_steps);
  }

  void report_progress() {
    const auto left = run_->seconds_left();
    const std::string run = left ? fmt::format("run {} left, ", clock_text(*left)) : "";
    run_->progress.advance(std::min(own_.control_steps - steps_before_epoch(), task_size()),
                           fmt::format("{}episode {}, return {:.1f}, {:.1f} steps/s", run, own_.episode + 1, own_.episode_return,
                                       speed_->at(run_->state.step)));
  }

  void live_one_step() {
    const int64_t number = run_->state.step;
    const bool is_learning = learns();
    const BatchShape& shape = parts_->shape;
    const at::Tensor action =
        is_learning ? parts_->agent.act(centre_crop(seen_, shape), action_noise(shape, number)) : random_action(shape, number);
    const std::span<const float> numbers(action.data_ptr<float>(), static_cast<size_t>(parts_->actions));
    EnvironmentStep moved;
    std::vector<uint8_t> picture;
    auto moving = parts_->environments.later([&](Environments& all) {
      moved = all.trained.step(numbers);
      picture.assign(all.trained.frame().begin(), all.trained.frame().end());
      if (!moved.diverged) seen_next_ = all.trained.observation();
    });
    try {
      if (is_learning) note(parts_->agent.update(draw_batch(*replay_, shape, number), number));
    } catch (...) {
      moving.wait();  // it refers to this call's variables
      throw;
    }
    moving.get();
    ++run_->state.step;
    own_.control_steps += std::max<int64_t>(1, moved.control_steps);
    if (moved.diverged) return forget_episode();
    replay_->add(numbers, moved.reward, picture);
    episode_actions_.insert(episode_actions_.end(), numbers.begin(), numbers.end());
    own_.episode_return += moved.reward;
    seen_.swap(seen_next_);
    if (moved.is_last) end_episode();
  }

  // Its last step came to nothing finite: the steps before it stay in the replay, it does not.
  void forget_episode() {
    ++own_.diverged;
    run_->log.warn(fmt::format("episode {}: the simulation reached a non-finite state; the episode ends there ({} of them so far)",
                               own_.episode + 1, own_.diverged));
    ++own_.episode;
    begin_episode();
  }

  void end_episode() {
    own_.means.add("episode_return", own_.episode_return);
    run_->metrics->write({{"epoch", run_->state.epoch + 1},
                          {"step", run_->state.step},
                          {"control_steps", own_.control_steps},
                          {"episode", own_.episode + 1},
                          {"episode_return", own_.episode_return}},
                         run_->state.step);
    ++own_.episode;
    begin_episode();
  }

  void note(const UpdateReport& report) {
    const Metrics all = {{"critic_loss", report.critic_loss},
                         {"actor_loss", report.actor_loss},
                         {"entropy", report.entropy},
                         {"temperature", report.temperature},
                         {"contrastive_loss", report.contrastive_loss},
                         {"clamped_share", report.clamped}};
    const int64_t step = run_->state.step + 1;
    nlohmann::ordered_json line = {{"epoch", run_->state.epoch + 1}, {"step", step}};
    for (const auto& [name, value] : all) {
      own_.means.add(name, value);
      if (!std::isnan(value)) line[name] = value;
    }
    if (step % recipe_.train.log_every == 0) run_->metrics->write(line, step);
  }

  const AgentRecipe& recipe_;
  std::optional<AgentParts> parts_;
  std::optional<Replay> replay_;
  std::optional<ReturnsOfEpisodes> returns_;
  RunAccess* run_ = nullptr;
  AgentState own_;
  std::vector<uint8_t> seen_, seen_next_;  // the images seen now, and after the current step
  std::vector<float> episode_actions_;     // of the episode under way
  int64_t first_step_ = 0;                 // of the epoch, or of its part that this process trains
  bool task_is_random_ = false;            // which the progress line counts
  std::optional<Speed> speed_;
};

}  // namespace

AgentResult train_agent(const AgentInput& input) {
  const AgentRecipe& recipe = input.recipe;
  const LoopRecipe loop = {.output = recipe.output,
                           .resolved = resolved(recipe),
                           .epochs = recipe.train.epochs,
                           .checkpoint_every = recipe.train.checkpoint_every,
                           .on_full_disk = recipe.train.on_full_disk,
                           .select = recipe.evaluate.select};
  AgentTraining training(recipe);
  AgentResult result{run_training(training, loop, {}, input)};
  result.diverged = training.diverged();
  return result;
}

}  // namespace debias
