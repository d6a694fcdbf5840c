#include "debias/agent/agent_options.h"

#include "debias/agent/networks.h"
#include "debias/control/task.h"
#include "debias/core/error.h"

namespace debias {
namespace {

constexpr double kMostPixels = 1024;

}  // namespace

const OptionTable<EnvironmentSection>& EnvironmentSection::table() {
  using Self = EnvironmentSection;
  static const auto table =
      OptionTable<Self>()
          .add("task", &Self::task_,
               "task to learn: finger_spin, cartpole_swingup, reacher_easy, cheetah_run, walker_walk, ball_in_cup_catch")
          .add("action_repeat", &Self::action_repeat_, Range::closed(1, kControlSteps),
               "number of control steps for each action; auto: the task's (CURL's)")
          .add("pixels", &Self::pixels_, Range::closed(kLeastCrop, kMostPixels), "side of a frame in pixels")
          .add("stack", &Self::stack_, Range::closed(1, 16), "number of consecutive frames that the agent sees, the newest last")
          .add("look", &Self::look_, "rendering: full has shadows and reflections; plain has none and takes half the time");
  return table;
}

const OptionTable<AgentOptions>& AgentOptions::table() {
  using Self = AgentOptions;
  static const auto table =
      OptionTable<Self>()
          .add("crop", &Self::crop_, Range::closed(kLeastCrop, kMostPixels),
               "side of the random crops of a frame that the agent learns from")
          .add("filters", &Self::filters_, Range::at_least(1), "number of filters of each of the four convolutions")
          .add("features", &Self::features_, Range::at_least(1), "dimensions of the encoder's output")
          .add("hidden", &Self::hidden_, Range::at_least(1), "number of units of each hidden layer of actor and critic")
          .add("batch_size", &Self::batch_size_, Range::at_least(2), "batch size: transitions of an update")
          .add("discount", &Self::discount_, Range::half_open(0, 1), "discount factor")
          .add("learning_rate", &Self::learning_rate_, Range::above(0), "learning rate of Adam, for critic, actor and contrastive step")
          .add("temperature", &Self::temperature_, Range::above(0),
               "initial entropy temperature: reward for one nat of the policy's entropy")
          .add("temperature_learning_rate", &Self::temperature_learning_rate_, Range::at_least(0),
               "learning rate of the temperature's logarithm (Adam, betas 0.5, 0.999)")
          .add("head_rate", &Self::head_rate_, Range::open_closed(0, 1),
               "soft update rate of the target's heads: share of the way to the critic's")
          .add("encoder_rate", &Self::encoder_rate_, Range::open_closed(0, 1), "soft update rate of the target's encoder")
          .add("actor_every", &Self::actor_every_, Range::at_least(1), "number of updates between two updates of the actor")
          .add("target_every", &Self::target_every_, Range::at_least(1), "number of updates between two updates of the target")
          .add("random_steps", &Self::random_steps_, Range::at_least(1),
               "number of first steps of the agent with random actions and no updates");
  return table;
}

const OptionTable<ReplayOptions>& ReplayOptions::table() {
  using Self = ReplayOptions;
  static const auto table =
      OptionTable<Self>()
          .add("capacity", &Self::capacity_, Range::at_least(1), "maximum number of transitions; the oldest are dropped")
          .add("megabytes", &Self::megabytes_, Range::above(0), "maximum size of their frames on disk, which bounds the capacity");
  return table;
}

const OptionTable<AgentTrainOptions>& AgentTrainOptions::table() {
  using Self = AgentTrainOptions;
  static const auto table =
      OptionTable<Self>()
          .add("epochs", &Self::epochs_, Range::at_least(1), "number of epochs of `control_steps` each")
          .add("control_steps", &Self::control_steps_, Range::at_least(1), "environment steps per epoch, including action repeats")
          .add("threads", &Self::threads_, Range::at_least(1), "threads of torch; auto: one for each processor")
          .add("checkpoint_every", &Self::checkpoint_every_, Range::at_least(0), "seconds between checkpoints within an epoch (0: none)")
          .add("log_every", &Self::log_every_, Range::at_least(1), "number of updates between two step lines of metrics.jsonl")
          .add("on_full_disk", &Self::on_full_disk_, "reaction to a full disk: stop the run, or wait for space and retry every minute");
  return table;
}

// Only one metric of an evaluation is better the higher it is.
const OptionTable<AgentEvaluateOptions>& AgentEvaluateOptions::table() {
  using Self = AgentEvaluateOptions;
  static const auto table =
      OptionTable<Self>()
          .add("every", &Self::every_, Range::at_least(1), "epochs between two evaluations (and after the last)")
          .add("episodes", &Self::episodes_, Range::at_least(1), "episodes of an evaluation, with the policy's mean action")
          .add("select", &Self::select_, "test.return_mean: the epoch with the highest value is stored as `best`")
          .check([](const Self& options, const std::string& what) {
            if (options.select().empty() || options.select() == kReturnMean) return;
            throw usage_error("{}: select '{}' does not say which epoch of an agent is the best; write {}, or leave it out", what,
                              options.select(), kReturnMean);
          });
  return table;
}

}  // namespace debias
