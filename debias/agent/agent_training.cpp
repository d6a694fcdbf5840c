#include "debias/agent/agent_training.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "debias/agent/agent_checkpoint.h"
#include "debias/agent/agent_parts.h"
#include "debias/control/mujoco_version.h"
#include "debias/control/task.h"
#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/train/metric_files.h"
#include "debias/train/train_log.h"

namespace debias {
namespace {

using Clock = std::chrono::steady_clock;
using Metrics = std::vector<std::pair<std::string, double>>;

double seconds_from(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Mark {
  Clock::time_point time;
  int64_t step = 0;
};

// Steps a second over the last 10 to 20 seconds: the random steps at first, which take no update, say nothing about those to come.
class RecentRate {
 public:
  explicit RecentRate(int64_t step) : older_{Clock::now(), step}, newer_(older_) {}

  double at(int64_t step) {
    if (seconds_from(newer_.time) > 10) {
      older_ = newer_;
      newer_ = {Clock::now(), step};
    }
    return static_cast<double>(step - older_.step) / seconds_from(older_.time);
  }

 private:
  Mark older_, newer_;
};

class AgentRun {
 public:
  explicit AgentRun(const AgentInput& input)
      : input_(input),
        recipe_(input.recipe),
        recipe_yaml_(resolved(recipe_).to_yaml()),
        environments_(environment_options(recipe_, Episodes::kTraining), environment_options(recipe_, Episodes::kJudged)),
        folder_(RunFolder::open(recipe_.output, input.existing, resolved(recipe_), {}, *input.log)),
        log_(folder_.path() + "/train.log", *input.log) {
    environments_.now([this](Environments& all) {
      actions_ = all.trained.action_count();
      renderer_ = all.renderer;
    });
    shape_ = batch_shape(recipe_, actions_);
    say_saved(true);
    if (input_.begun != nullptr) input_.begun->store(true);
  }

  AgentResult run() {
    const auto start = Clock::now();
    AgentResult result;
    result.folder = recipe_.output;
    result.epochs = recipe_.train.epochs();
    std::optional<AgentCheckpoint> checkpoint;
    if (folder_.resumed()) checkpoint = open_newest_agent(folder_.checkpoints(), log_);
    const std::string pictures = folder_.path() + "/replay.pictures";
    if (checkpoint && checkpoint->common.state.finished) {
      require_metrics(folder_.path() + "/metrics.jsonl", checkpoint->common.state.metrics);
      std::filesystem::remove(pictures);  // the run may have been ended after its last checkpoint and before that
      result.already_finished = true;
      return result;
    }
    folder_.put_in_force(parse_yaml(recipe_yaml_, "recipe"));
    agent_.emplace(make_agent(recipe_, actions_));
    if (!checkpoint) std::filesystem::remove(pictures);
    replay_.emplace(pictures, replay_shape(recipe_, actions_));
    if (checkpoint) {
      restore_from(*checkpoint);
    } else {
      if (folder_.resumed()) log_.warn(fmt::format("no checkpoint in '{}' yet: starting from the beginning", folder_.path()));
      own_.renderer = renderer_;
      own_.mujoco = mujoco_version();
      describe_environment();
      begin_episode();
    }
    log_.note(fmt::format("MuJoCo {}, drawn by {}", own_.mujoco, own_.renderer));
    metrics_ = std::make_unique<MetricFiles>(folder_.path(), common_.metrics, log_);
    metrics_->begin(resolved(recipe_));
    last_save_ = Clock::now();
    while (common_.epoch < recipe_.train.epochs()) result.metrics = epoch();
    metrics_->finish();
    replay_.reset();
    std::filesystem::remove(pictures);
    result.diverged = own_.diverged;
    result.seconds = seconds_from(start);
    return result;
  }

 private:
  void say_saved(bool all) const {
    if (input_.all_saved != nullptr) input_.all_saved->store(all);
  }

  int stop_signal() const { return input_.stop_signal == nullptr ? 0 : input_.stop_signal->load(); }

  // What the pictures and the physics came from, beside what every run says of its machine.
  void describe_environment() const {
    const std::string path = folder_.path() + "/environment.json";
    std::ifstream file(path);
    auto json = nlohmann::ordered_json::parse(file);
    json["mujoco"] = own_.mujoco;
    json["renderer"] = own_.renderer;
    write_file_atomically(path, json.dump(2) + "\n");
  }

  void restore_from(const AgentCheckpoint& checkpoint) {
    common_ = checkpoint.common.state;
    own_ = checkpoint.state;
    if (own_.mujoco != mujoco_version() || own_.renderer != renderer_) {
      throw usage_error(
          "resuming '{}': it ran on MuJoCo {} drawn by {}, here are {} and {}; resume on the same, or start again with --overwrite",
          recipe_.output, own_.mujoco, own_.renderer, mujoco_version(), renderer_);
    }
    agent_->load(checkpoint.common.file);
    replay_->load(checkpoint.common.file);
    episode_actions_ = saved_actions(checkpoint.common.file, actions_);
    environments_.now([this](Environments& all) { live_again(all.trained); });
    if (common_.threads != at::get_num_threads() || common_.instruction_set != instruction_set()) {
      log_.warn(fmt::format("the run used {} threads and {}, now {} and {}: results may differ in the last digits", common_.threads,
                            common_.instruction_set, at::get_num_threads(), instruction_set()));
    }
    log_.info(fmt::format("resuming '{}' at epoch {} (step {})", recipe_.output, common_.epoch + 1, common_.step));
  }

  // The episode under way is its actions: the simulation comes to the same state by them.
  void live_again(PixelEnvironment& environment) {
    environment.begin(own_.episode);
    for (size_t i = 0; i < episode_actions_.size(); i += static_cast<size_t>(actions_)) {
      environment.step({episode_actions_.data() + i, static_cast<size_t>(actions_)});
    }
    const auto picture = environment.frame();
    if (std::memcmp(picture.data(), replay_->newest_picture(), picture.size()) != 0) {
      throw data_error(
          "resuming '{}': the episode under way does not come to the picture that it was left at; start again with --overwrite",
          recipe_.output);
    }
    seen_ = environment.observation();
  }

  void begin_episode() {
    environments_.now([this](Environments& all) {
      all.trained.begin(own_.episode);
      seen_ = all.trained.observation();
      replay_->begin_episode(all.trained.frame());
    });
    episode_actions_.clear();
    own_.episode_return = 0;
  }

  Metrics epoch() {
    const int64_t end = (common_.epoch + 1) * recipe_.train.control_steps();
    begun_ = {Clock::now(), common_.step};
    RecentRate rate(common_.step);
    input_.progress->begin(fmt::format("epoch {}/{}", common_.epoch + 1, recipe_.train.epochs()), recipe_.train.control_steps());
    while (own_.control_steps < end) {
      one_step();
      input_.progress->advance(std::min(own_.control_steps, end) - common_.epoch * recipe_.train.control_steps(),
                               progress_note(rate.at(common_.step)));
      save_if_due();
    }
    input_.progress->end();
    if (common_.step > begun_.step) note_speed("");
    return end_epoch();
  }

  // Of the epoch, or of its part, that has been trained. The report reads this line (report/training_speed.h).
  void note_speed(const std::string& remark) {
    const double seconds = seconds_from(begun_.time);
    log_.note(fmt::format("epoch {}: {:.1f} s, {:.1f} steps of the agent a second{}", common_.epoch + 1, seconds,
                          static_cast<double>(common_.step - begun_.step) / seconds, remark));
  }

  // The time left is the run's, evaluations apart; what the progress line says itself is the epoch's.
  std::string progress_note(double steps_a_second) const {
    const int64_t left = recipe_.train.epochs() * recipe_.train.control_steps() - own_.control_steps;
    const double steps_left = static_cast<double>(std::max<int64_t>(0, left)) / static_cast<double>(recipe_.action_repeat());
    return fmt::format("episode {}, return {:.1f}, {:.1f} steps a second, {:.0f} min to the run's end", own_.episode + 1,
                       own_.episode_return, steps_a_second, steps_left / steps_a_second / 60);
  }

  void one_step() {
    say_saved(false);
    saved_ = false;
    const int64_t number = common_.step;
    // Without a transition, as where every episode so far diverged in its first step, there is nothing to learn from yet.
    const bool learns = number >= recipe_.agent.random_steps() && replay_->size() > 0;
    const at::Tensor action =
        learns ? agent_->act(centre_crop(seen_, shape_), action_noise(shape_, number)) : random_action(shape_, number);
    const std::span<const float> numbers(action.data_ptr<float>(), static_cast<size_t>(actions_));
    EnvironmentStep moved;
    std::vector<uint8_t> picture;
    auto moving = environments_.later([&](Environments& all) {
      moved = all.trained.step(numbers);
      picture.assign(all.trained.frame().begin(), all.trained.frame().end());
      if (!moved.diverged) seen_next_ = all.trained.observation();
    });
    try {
      if (learns) note(agent_->update(draw_batch(*replay_, shape_, number), number));
    } catch (...) {
      moving.wait();  // it refers to this call's variables
      throw;
    }
    moving.get();
    ++common_.step;
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
    log_.warn(fmt::format("episode {}: the simulation came to no finite state; the episode ends there ({} of them so far)",
                          own_.episode + 1, own_.diverged));
    ++own_.episode;
    begin_episode();
  }

  void end_episode() {
    own_.means.add("episode_return", own_.episode_return);
    metrics_->write({{"epoch", common_.epoch + 1},
                     {"step", common_.step},
                     {"control_steps", own_.control_steps},
                     {"episode", own_.episode + 1},
                     {"episode_return", own_.episode_return}},
                    common_.step);
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
    nlohmann::ordered_json line = {{"epoch", common_.epoch + 1}, {"step", common_.step + 1}};
    for (const auto& [name, value] : all) {
      own_.means.add(name, value);
      if (!std::isnan(value)) line[name] = value;
    }
    if ((common_.step + 1) % recipe_.train.log_every() == 0) metrics_->write(line, common_.step + 1);
  }

  void save_if_due() {
    const double every = recipe_.train.checkpoint_every();
    const int64_t spare = replay_shape(recipe_, actions_).spare;
    const bool is_due = (every > 0 && seconds_from(last_save_) >= every) || (spare > 0 && replay_->unsaved() >= spare / 2);
    if (stop_signal() == 0 && !is_due) return;
    save();
    if (stop_signal() != 0) note_speed(fmt::format("; stopped after step {}", common_.step));
    stop_if_asked();
  }

  void stop_if_asked() const {
    const int signal = stop_signal();
    if (signal == 0) return;
    input_.progress->end();
    throw Error(ErrorKind::kInterrupted, fmt::format("stopped by SIG{} after step {} (epoch {}); go on with --resume", sigabbrev_np(signal),
                                                     common_.step, common_.epoch + 1));
  }

  Metrics end_epoch() {
    Metrics metrics = {{"control_steps", static_cast<double>(own_.control_steps)}};
    for (auto& mean : own_.means.means()) metrics.push_back(std::move(mean));
    metrics.emplace_back("diverged", static_cast<double>(own_.diverged));
    const bool is_last = common_.epoch + 1 == recipe_.train.epochs();
    if (is_last || (common_.epoch + 1) % recipe_.evaluate.every() == 0) {
      if (!saved_) save();
      evaluate(metrics);
    }
    ++common_.epoch;
    nlohmann::ordered_json line = {{"epoch", common_.epoch}};
    std::string text;
    for (const auto& [name, value] : metrics) {
      line[name] = value;
      text += fmt::format(", {} {:.4g}", name, value);
    }
    metrics_->write(line, common_.step);
    log_.info(fmt::format("epoch {}/{}{}", common_.epoch, recipe_.train.epochs(), text));
    own_.means.clear();
    common_.finished = is_last;
    save();
    if (!is_last) stop_if_asked();
    return metrics;
  }

  void evaluate(Metrics& metrics) {
    const int64_t episodes = recipe_.evaluate.episodes();
    input_.progress->begin("evaluation", episodes * kControlSteps);
    int64_t done = 0;
    const JudgedReturns judged = judge(*agent_, environments_, shape_, episodes, [&](Environments&, const JudgedState& state) {
      input_.progress->advance(std::min(++done * recipe_.action_repeat(), episodes * kControlSteps),
                               fmt::format("episode {}", state.episode + 1));
    });
    input_.progress->end();
    metrics.emplace_back("test.return_mean", mean_of(judged.returns));
    metrics.emplace_back("test.return_std", deviation_of(judged.returns));
    metrics.emplace_back("test.diverged", static_cast<double>(judged.diverged));
    if (judged.diverged == 0) return;
    log_.warn(fmt::format("{} of {} judged episodes ended in no finite state; their returns are what they had until then", judged.diverged,
                          episodes));
  }

  void save() {
    common_.metrics = metrics_->commit();
    common_.threads = at::get_num_threads();
    common_.instruction_set = instruction_set();
    Replay* replay = common_.finished ? nullptr : &*replay_;
    save_agent(folder_.checkpoints(), {*agent_, replay, episode_actions_}, common_, own_, recipe_yaml_);
    last_save_ = Clock::now();
    saved_ = true;
    say_saved(true);
  }

  const AgentInput& input_;
  const AgentRecipe& recipe_;
  std::string recipe_yaml_;
  EnvironmentThread environments_;  // ahead of the folder, so that what cannot draw leaves none
  RunFolder folder_;
  TrainLog log_;
  int64_t actions_ = 1;
  std::string renderer_;
  BatchShape shape_;
  std::optional<Agent> agent_;
  std::optional<Replay> replay_;
  std::unique_ptr<MetricFiles> metrics_;
  TrainingState common_;
  AgentState own_;
  std::vector<uint8_t> seen_, seen_next_;  // the pictures seen now, and after the step under way
  std::vector<float> episode_actions_;     // of the episode under way
  bool saved_ = false;                     // all that was learnt
  Clock::time_point last_save_;
  Mark begun_;  // the epoch, or its part that this process trains
};

}  // namespace

AgentResult train_agent(const AgentInput& input) {
  if (input.recipe.output.empty())
    throw usage_error("rl train: no output folder is given; write `output: runs/NAME` or add output=runs/NAME");
  return AgentRun(input).run();
}

}  // namespace debias
