// debias rl train, debias rl play.
#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/debias/agent_runs.h"
#include "apps/debias/control/drawing_threads.h"
#include "apps/debias/results.h"
#include "apps/debias/verbs.h"
#include "debias/agent/agent_parts.h"
#include "debias/agent/agent_recipe.h"
#include "debias/agent/episode_video.h"
#include "debias/control/task.h"
#include "debias/core/error.h"
#include "debias/core/paths.h"
#include "debias/core/printable.h"
#include "debias/core/recipe_keys.h"
#include "debias/process/stop_signals.h"
#include "debias/process/terminal.h"
#include "debias/runs/recipe_lookup.h"
#include "debias/runtime/device.h"

namespace debias {
namespace {

struct RlTrainArguments {
  std::string recipe;
  std::vector<std::string> words;
  bool resume = false, overwrite = false, dry_run = false, json = false;
};

struct RlPlayArguments {
  std::string run;
  int64_t episodes = 10;
  std::optional<int64_t> seed;
  std::string checkpoint;  // empty: the newest
  std::string video;
  bool json = false;
};

AgentRecipe played_recipe(const std::string& run) {
  std::error_code ignored;
  if (!std::filesystem::exists(run + "/config.yaml", ignored)) {
    throw data_error("rl play: '{}' is not a run folder (no config.yaml); give one of debias rl train", run);
  }
  const Config root = read_yaml_file(run + "/config.yaml");
  if (is_agent_recipe(root)) return read_agent_recipe(root);
  throw usage_error("rl play: '{}' is a run of an encoder, not of an agent; evaluate it with debias eval, or give a run of debias rl train",
                    run);
}

int rl_train(const RlTrainArguments& arguments) {
  if (arguments.resume && arguments.overwrite) throw usage_error("rl train: --resume and --overwrite exclude each other; give one");
  const Config recipe = read_recipe_config(arguments.recipe, arguments.words, arguments.resume);
  if (!is_agent_recipe(recipe)) {
    throw usage_error(
        "{}rl train: the recipe has no `environment`, so it is not an agent recipe; use debias train, or give one of those called rl/ in "
        "debias list recipes",
        recipe.prefix());
  }
  RunControl control;
  control.existing = arguments.resume      ? ExistingFolder::kResume
                     : arguments.overwrite ? ExistingFolder::kOverwrite
                                           : ExistingFolder::kRefuse;
  if (!arguments.dry_run) {
    StopSignals& signals = watch_stop_signals();
    control.stop_signal = &signals.received;
    control.all_saved = &signals.all_saved;
    control.begun = &signals.begun;
  }
  return train_agent_as(recipe, control, {arguments.dry_run, arguments.json});
}

// The one that is asked for, else the newest whole one.
OpenCheckpoint played_checkpoint(const RlPlayArguments& arguments, Log& log) {
  const std::string folder = arguments.run + "/checkpoints";
  if (!arguments.checkpoint.empty()) {
    const std::string path = fmt::format("{}/{}.safetensors", folder, arguments.checkpoint);
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return open_checkpoint(path);
    throw data_error("rl play: '{}' has no checkpoints/{}.safetensors{}", arguments.run, arguments.checkpoint,
                     arguments.checkpoint == "best" ? "; `best` exists only with evaluate.select" : "; leave --checkpoint out");
  }
  std::optional<OpenCheckpoint> newest = open_newest(folder, log);
  if (!newest) throw data_error("rl play: '{}' has no checkpoint yet; let it train for an epoch", arguments.run);
  return *std::move(newest);
}

// Releases the renderer in the thread that drew, also where an episode throws.
class Drawing {
 public:
  Drawing(EnvironmentThread& environments, EpisodeVideo& video) : environments_(environments), video_(video) {}
  ~Drawing() {
    environments_.now([this](Environments&) { video_.end_of_drawing(); });
  }
  Drawing(const Drawing&) = delete;
  Drawing& operator=(const Drawing&) = delete;

 private:
  EnvironmentThread& environments_;
  EpisodeVideo& video_;
};

// Plays, and takes a video of the first episode.
EvaluatedReturns play_on_video(const Agent& agent, EnvironmentThread& environments, const BatchShape& shape, int64_t episodes,
                               EpisodeVideo& video) {
  const Drawing drawing(environments, video);
  return evaluate_agent(agent, environments, shape, episodes, [&](Environments& all, const EvaluatedState& state) {
    if (state.episode == 0) video.take(all.evaluated, state);
  });
}

// For a report. A folder that cannot be written to must not lose the returns.
void keep_stills(const EpisodeVideo& video, const std::string& run, const VideoRecord& record, Log& log) {
  try {
    video.keep(run, record);
  } catch (const std::exception& error) {
    log.warn(fmt::format("a report of '{}' will not show this video: {}", run, error.what()));
  }
}

int rl_play(const RlPlayArguments& arguments) {
  if (arguments.episodes < 1) throw usage_error("rl play: --episodes {}: give 1 or more", arguments.episodes);
  if (arguments.seed.value_or(0) < 0) throw usage_error("rl play: --seed {}: give 0 or more, or leave it out", *arguments.seed);
  const VideoWriter writer = arguments.video.empty() ? VideoWriter() : video_writer(arguments.video);
  const AgentRecipe recipe = played_recipe(arguments.run);
  draw_in_one_thread();
  const auto log = terminal_log();
  const OpenCheckpoint checkpoint = played_checkpoint(arguments, *log);
  use_threads(recipe.train.threads);
  EnvironmentOptions evaluated = environment_options(recipe, Episodes::kEvaluated);
  if (arguments.seed) evaluated.seed = static_cast<uint64_t>(*arguments.seed);
  EnvironmentThread environments(environment_options(recipe, Episodes::kTraining), evaluated);
  int64_t actions = 0;
  std::string renderer;
  environments.now([&](Environments& all) {
    actions = all.evaluated.action_count();
    renderer = all.renderer;
  });
  const AgentState trained = agent_state_of(checkpoint);
  if (trained.mujoco != mujoco_version() || trained.renderer != renderer) {
    log->warn(fmt::format("'{}' was trained on MuJoCo {} rendered by {}, and plays on {} rendered by {}: this alone may change returns",
                          arguments.run, trained.mujoco, trained.renderer, mujoco_version(), renderer));
  }
  Agent agent = make_agent(recipe, actions);
  agent.load(checkpoint.file);
  EpisodeVideo video(recipe.environment.look, writer ? VideoFrames::kAll : VideoFrames::kStills);
  const EvaluatedReturns found = play_on_video(agent, environments, batch_shape(recipe, actions), arguments.episodes, video);
  if (writer) video.write(writer);
  keep_stills(video, arguments.run,
              {.checkpoint = std::filesystem::path(checkpoint.file.path()).filename().string(),
               .control_steps = trained.control_steps,
               .seed = static_cast<int64_t>(evaluated.seed),
               .episode = 0,
               .episode_return = found.returns.front(),
               .stills = {}},
              *log);
  const double mean = mean_of(found.returns), deviation = deviation_of(found.returns);
  if (arguments.json) {
    nlohmann::ordered_json out = {{"run", arguments.run},
                                  {"control_steps", trained.control_steps},
                                  {"returns", found.returns},
                                  {"return_mean", mean},
                                  {"return_std", deviation},
                                  {"diverged", found.diverged},
                                  {"mujoco", mujoco_version()},
                                  {"renderer", renderer},
                                  {"trained", {{"mujoco", trained.mujoco}, {"renderer", trained.renderer}}}};
    if (writer) out["video"] = arguments.video;
    print_json(out);
    return 0;
  }
  fmt::print("{} after {} control steps: return {:.1f} (sd {:.1f} of {} episodes)\n", without_control_characters(arguments.run),
             trained.control_steps, mean, deviation, found.returns.size());
  if (writer) fmt::print("{}\n", without_control_characters(arguments.video));
  return 0;
}

}  // namespace

void add_rl_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("rl", "trains and plays agents that learn control tasks from pixels and rewards");
  verb->require_subcommand(1);
  auto* train = verb->add_subcommand("train", "trains an agent from a recipe");
  auto asked = std::make_shared<RlTrainArguments>();
  train->add_option("recipe", asked->recipe, "a YAML file, the name of a recipe (debias list recipes), or a run folder (its config.yaml)")
      ->required();
  train->add_option("overrides", asked->words, "key.sub=value: overrides of the recipe");
  train->add_flag("--resume", asked->resume, "resume the run in the output folder where it stopped, bit for bit");
  train->add_flag("--overwrite", asked->overwrite, "start again in an existing run folder");
  train->add_flag("--dry-run", asked->dry_run, "print the resolved recipe, then stop");
  train->add_flag("--json", asked->json, "one JSON object on standard output");
  train->footer("Example: debias rl train rl/small/cartpole output=runs/cartpole");
  train->callback([asked, &action] { action = [asked] { return rl_train(*asked); }; });
  auto* play = verb->add_subcommand("play", "plays episodes with a trained agent, and stores frames of the first for debias report");
  auto given = std::make_shared<RlPlayArguments>();
  play->add_option("run", given->run, "a run folder of debias rl train")->required();
  play->add_option("--episodes", given->episodes, "number of episodes to play (10)");
  play->add_option("--seed", given->seed, "seed of the initial states (the run's)");
  play->add_option("--checkpoint", given->checkpoint, "last, best or previous (the newest)")
      ->check(CLI::IsMember({"last", "best", "previous"}))
      ->option_text("NAME");
  play->add_option("--video", given->video, "video of the first episode to write: .gif, or .mp4 (needs ffmpeg)")
      ->option_text("FILE")
      ->transform(with_home);
  play->add_flag("--json", given->json, "one JSON object on standard output");
  play->footer("Example: debias rl play runs/cartpole --episodes 10 --video cartpole.gif");
  play->callback([given, &action] { action = [given] { return rl_play(*given); }; });
  verb->footer("Example: debias rl train rl/small/cartpole output=runs/cartpole");
}

}  // namespace debias
