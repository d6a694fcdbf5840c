#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "apps/debias/agent_runs.h"
#include "apps/debias/results.h"
#include "apps/debias/seed_runs.h"
#include "apps/debias/verbs.h"
#include "debias/core/cpu_share.h"
#include "debias/core/error.h"
#include "debias/core/human_units.h"
#include "debias/core/paths.h"
#include "debias/core/printable.h"
#include "debias/core/recipe_keys.h"
#include "debias/process/stop_signals.h"
#include "debias/process/terminal.h"
#include "debias/runs/evaluated_data.h"
#include "debias/runs/rank_launcher.h"
#include "debias/runs/recipe_lookup.h"
#include "debias/runs/training_setup.h"
#include "debias/sweep/sweep_plan.h"
#include "debias/sweep/sweep_record.h"
#include "debias/train/loop/trainer.h"
#include "debias/train/methods/image_batches.h"
#include "debias/train/methods/term.h"

namespace debias {
namespace {

struct TrainArguments {
  std::string recipe;
  std::vector<std::string> words;
  int64_t ranks = 1;
  std::optional<int64_t> seeds;
  RankArguments meeting;
  bool resume = false, overwrite = false, accept_data_change = false, dry_run = false, json = false;
};

std::string bytes(int64_t count) { return fmt::format("{:.1f} MB", static_cast<double>(count) / 1e6); }

constexpr size_t kShownGroups = 40;

nlohmann::ordered_json groups_json(const std::vector<DrawnGroup>& groups) {
  auto all = nlohmann::ordered_json::array();
  for (const auto& group : groups) {
    all.push_back({{"group", group.name}, {"images", group.samples}, {"share", group.share}, {"times_an_epoch", group.times}});
  }
  return all;
}

void print_groups(const TrainPlan& plan) {
  const auto& groups = plan.groups;
  if (!groups.empty()) fmt::print("# sampler            of each group: images, share of the draws, times an epoch draws each image\n");
  for (size_t i = 0; i < std::min(groups.size(), kShownGroups); ++i) {
    print_lines(fmt::format("#   {:<24} {:>7} {:>8.4f} {:>9.3f}\n", without_control_characters(groups[i].name), groups[i].samples,
                            groups[i].share, groups[i].times));
  }
  if (groups.size() > kShownGroups) fmt::print("#   and {} more (--json has all)\n", groups.size() - kShownGroups);
  for (const auto& line : plan.undrawn) print_lines(fmt::format("# {}\n", without_control_characters(line)));
}

void print_plan(const TrainPlan& plan, const TrainOptions& options, const Config& resolved, bool json) {
  const double ratio = plan.seconds_per_step / plan.seconds_per_cached_step;
  if (json) {
    nlohmann::ordered_json out = {{"config", resolved.to_json()},
                                  {plan.samples_are, plan.samples},
                                  {"epochs", plan.epochs},
                                  {"steps_per_epoch", plan.steps_per_epoch},
                                  {"parameters", plan.parameters},
                                  {"precision", rounding(options)},
                                  {"seconds_per_step", plan.seconds_per_step},
                                  {"seconds_per_cached_step", plan.seconds_per_cached_step},
                                  {"step_ratio", ratio},
                                  {"trial_steps", plan.trial_steps},
                                  {"seconds_per_epoch", plan.seconds_per_epoch},
                                  {"seconds_total", plan.seconds_total},
                                  {"peak_bytes", plan.peak_bytes},
                                  {"checkpoint_bytes", plan.checkpoint_bytes}};
    if (!plan.groups.empty()) out["drawn"] = groups_json(plan.groups);
    print_json(out);
    return;
  }
  print_lines(resolved.to_yaml() + "\n");
  fmt::print("# plan, from {} trial steps of each kind (nothing was written)\n", plan.trial_steps);
  fmt::print("# {:<18} {} ({} steps an epoch, {} epochs)\n", plan.samples_are, plan.samples, plan.steps_per_epoch, plan.epochs);
  fmt::print("# parameters         {}\n", plan.parameters);
  fmt::print("# precision          {}\n", rounding(options));
  fmt::print("# step               {:.4f} s with fresh {}, {:.4f} s on a cached batch: ratio {:.3f}\n", plan.seconds_per_step,
             plan.inputs_are, plan.seconds_per_cached_step, ratio);
  fmt::print("# time               {} an epoch, {} in all, without evaluations\n", duration_text(plan.seconds_per_epoch),
             duration_text(plan.seconds_total));
  fmt::print("# memory             {} peak, resident\n", bytes(plan.peak_bytes));
  fmt::print("# disk               {} per checkpoint; two or three are stored\n", bytes(plan.checkpoint_bytes));
  print_groups(plan);
}

ExistingFolder existing_of(const TrainArguments& arguments) {
  return arguments.resume ? ExistingFolder::kResume : arguments.overwrite ? ExistingFolder::kOverwrite : ExistingFolder::kRefuse;
}

int train_one(const TrainArguments& arguments, const Config& config, TrainInput input) {
  if (arguments.overwrite) refuse_emptying(input.recipe.output, files_named_in(config));
  if (arguments.dry_run)
    refuse_inside_data(input.recipe.output, roots_of(data_of(input.recipe)));  // a training opens its folder, which does
  const bool leads = input.ranks->leads();
  const auto progress = leads ? terminal_progress() : std::make_unique<Progress>();
  const auto log = leads ? terminal_log() : std::make_unique<Log>();
  input.progress = progress.get();
  input.log = log.get();
  input.data_change = arguments.accept_data_change ? DataChange::kAccept : DataChange::kRefuse;
  const TrainingSetup setup = set_up_training(std::move(input));
  if (arguments.dry_run) {
    print_plan(plan_training(setup.input), setup.input.recipe.train, setup.resolved, arguments.json);
    return 0;
  }
  const TrainResult result = train(setup.input);
  if (!leads) return 0;
  const GroupNotes groups = notes_on_groups(setup.input.recipe, *setup.input.dataset);
  nlohmann::ordered_json of_data = {{setup.input.dataset->what(), setup.input.dataset->size()}};
  of_data["groups"] = groups.groups > 0 ? groups.groups : setup.input.dataset->size();
  of_data["groups_from"] = setup.input.dataset->info().groups_from;
  print_outcome({result.folder, result.epochs, result.already_finished, result.seconds, result.metrics, groups.notes}, arguments.json,
                of_data);
  if (result.failed_evaluations.empty()) return 0;
  const auto& [epoch, reason] = result.failed_evaluations.front();
  const size_t more = result.failed_evaluations.size() - 1;
  throw Error(ErrorKind::kFailure, fmt::format("train: trained to the end, but the evaluation after epoch {} failed: {}{}", epoch, reason,
                                               more == 0 ? "" : fmt::format(" ({} later ones, too)", more)));
}

// Rejects what every rank would reject, before one is started.
int launch(const TrainArguments& arguments, const Recipe& recipe, StopSignals& signals) {
  const int64_t most = recipe.train.batch_size, cores = available_cpus();
  if (arguments.ranks > most)
    throw usage_error("train: --ranks {} is more than the {} samples of a batch; lower it, or raise batch_size", arguments.ranks, most);
  require_shares_of_batch(recipe, arguments.ranks);
  if (arguments.ranks > cores) {
    terminal_log()->warn(fmt::format("--ranks {} on {} core{}: ranks that share a core wait for one another; start at most {}",
                                     arguments.ranks, cores, cores == 1 ? "" : "s", cores));
  }
  signals.all_saved = false;
  return launch_ranks({.ranks = arguments.ranks, .words = own_words(), .signals = &signals});
}

int train_as_rank(const TrainArguments& arguments, const Config& config, TrainInput input, RankStart start) {
  const auto seconds = [](double count) { return std::chrono::milliseconds(static_cast<int64_t>(count * 1000)); };
  name_stopped_process(fmt::format("rank {} of {}", start.place.rank, start.place.size));
  start.rendezvous.step = seconds(input.recipe.train.rank_timeout);
  start.rendezvous.setup = std::min(start.rendezvous.setup, start.rendezvous.step);
  const Ranks ranks(start.place, start.rendezvous);
  input.ranks = &ranks;
  if (start.is_restart) input.existing = ExistingFolder::kResume;
  return tell_failures(ranks, [&] { return train_one(arguments, config, std::move(input)); });
}

// Rejects options that `--seeds` excludes.
void require_seeds_alone(const TrainArguments& arguments) {
  if (arguments.ranks > 1 || !arguments.meeting.rendezvous.empty())
    throw usage_error("train: --seeds and --ranks exclude each other: each seed is one process; train the seeds one by one, with seed=N");
  if (arguments.overwrite)
    throw usage_error("train: --seeds and --overwrite exclude each other; remove the folder, or choose another output");
  if (arguments.accept_data_change)
    throw usage_error("train: --seeds and --accept-data-change exclude each other; resume the seed's own folder with it");
}

int train_with_seeds(const TrainArguments& arguments, const Config& config) {
  require_seeds_alone(arguments);
  const SweepPlan plan = seeds_plan(arguments.recipe, config, *arguments.seeds);
  if (std::error_code ignored; std::filesystem::exists(plan.output + "/config.yaml", ignored)) {
    throw usage_error("train: '{}' is a single run; add output={}-seeds, below which each seed has a folder", plan.output, plan.output);
  }
  if (!arguments.resume && !arguments.dry_run && has_sweep_record(plan.output)) {
    throw usage_error("train: '{}' contains runs of several seeds; --resume continues them, another output=DIR starts again", plan.output);
  }
  return train_seeds(plan, {.dry_run = arguments.dry_run, .json = arguments.json});
}

int train_one_agent(const TrainArguments& arguments, const Config& config, const RunControl& control) {
  if (arguments.ranks > 1 || rank_start(arguments.meeting)) {
    throw usage_error("train: '{}' is the recipe of an agent, which learns in a single process; leave --ranks out", arguments.recipe);
  }
  if (arguments.accept_data_change) {
    throw usage_error("train: '{}' is the recipe of an agent, which has no data sets; leave --accept-data-change out", arguments.recipe);
  }
  if (arguments.seeds) return train_with_seeds(arguments, config);
  return train_agent_as(config, control, {arguments.dry_run, arguments.json});
}

int run_train(const TrainArguments& arguments) {
  if (arguments.resume && arguments.overwrite) throw usage_error("train: --resume and --overwrite exclude each other; give one");
  if (arguments.ranks < 1) throw usage_error("train: --ranks {}: give 1 or more", arguments.ranks);
  end_with_launcher();
  TrainInput input;
  StopSignals* signals = arguments.dry_run ? nullptr : &watch_stop_signals();
  if (signals != nullptr) {
    input.stop_signal = &signals->received;
    input.all_saved = &signals->all_saved;
    input.begun = &signals->begun;
  }
  input.existing = existing_of(arguments);
  const Config config = read_recipe_config(arguments.recipe, arguments.words, arguments.resume);
  if (is_agent_recipe(config)) return train_one_agent(arguments, config, input);
  input.recipe = read_recipe(config);
  if (arguments.seeds) return train_with_seeds(arguments, config);
  const bool is_rank = is_launched();
  if (!is_rank && arguments.ranks > 1 && !arguments.meeting.rendezvous.empty()) {
    throw usage_error("train: --ranks {} starts all processes and opens the port at which they meet; leave --rendezvous out",
                      arguments.ranks);
  }
  const auto start = rank_start(arguments.meeting);
  if (start && !is_rank && arguments.ranks > 1) {
    throw usage_error("train: --ranks {} contradicts the environment, by which this is rank {} of {}; leave --ranks out", arguments.ranks,
                      start->place.rank, start->place.size);
  }
  if (arguments.dry_run) {
    if (start || arguments.ranks > 1) throw usage_error("train: --dry-run plans a single process; leave --ranks out");
    return train_one(arguments, config, input);
  }
  if (start) return train_as_rank(arguments, config, std::move(input), *start);
  return arguments.ranks > 1 ? launch(arguments, input.recipe, *signals) : train_one(arguments, config, std::move(input));
}

}  // namespace

void add_train_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("train", "trains an encoder or an agent from a recipe");
  auto arguments = std::make_shared<TrainArguments>();
  verb->add_option("recipe", arguments->recipe,
                   "a YAML file, the name of a recipe (debias list recipes), or a run folder (its config.yaml)")
      ->required();
  verb->add_option("overrides", arguments->words, "key.sub=value: overrides of the recipe");
  verb->add_option("--seeds", arguments->seeds,
                   "number of seeds to train, one after another, from the recipe's seed on; run folders are OUTPUT/seed-N")
      ->option_text("N");
  verb->add_option("--ranks", arguments->ranks, "number of data-parallel processes on this machine, which share each batch");
  verb->add_option("--rendezvous", arguments->meeting.rendezvous,
                   "HOST:PORT or file:PATH, the meeting point of processes started by mpirun or srun");
  verb->add_option("--interface", arguments->meeting.interface, "network interface between the processes, such as eth0");
  verb->add_flag("--resume", arguments->resume, "resume the run in the output folder where it stopped, bit for bit");
  verb->add_flag("--overwrite", arguments->overwrite, "start again in an existing run folder");
  verb->add_flag("--accept-data-change", arguments->accept_data_change, "resume although the data have changed");
  verb->add_flag("--dry-run", arguments->dry_run, "print the resolved recipe and a time and memory plan, then stop");
  verb->add_flag("--json", arguments->json, "one JSON object on standard output");
  verb->footer("Example: debias train demo/debiased_negatives train.epochs=2 output=runs/try");
  verb->callback([arguments, &action] { action = [arguments] { return run_train(*arguments); }; });
}

}  // namespace debias
