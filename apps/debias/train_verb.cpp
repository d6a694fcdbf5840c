#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "apps/debias/duration_text.h"
#include "apps/debias/judged_run.h"
#include "apps/debias/neighbour_evaluation.h"
#include "apps/debias/option_estimates.h"
#include "apps/debias/output_path.h"
#include "apps/debias/rank_environment.h"
#include "apps/debias/rank_launcher.h"
#include "apps/debias/recipe_lookup.h"
#include "apps/debias/results.h"
#include "apps/debias/stop_signals.h"
#include "apps/debias/terminal.h"
#include "apps/debias/training_evaluation.h"
#include "apps/debias/training_outcome.h"
#include "apps/debias/verbs.h"
#include "debias/core/error.h"
#include "debias/core/printable.h"
#include "debias/core/recipe_kind.h"
#include "debias/evaluate/eval_views.h"
#include "debias/train/trainer.h"

namespace debias {
namespace {

struct TrainArguments {
  std::string recipe;
  std::vector<std::string> words;
  int64_t ranks = 1;
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
  fmt::print("# time               {} an epoch, {} in all, evaluations not counted\n", duration_text(plan.seconds_per_epoch),
             duration_text(plan.seconds_total));
  fmt::print("# memory             {} peak, resident\n", bytes(plan.peak_bytes));
  fmt::print("# disk               {} a checkpoint, two or three are kept\n", bytes(plan.checkpoint_bytes));
  print_groups(plan);
}

ExistingFolder existing_of(const TrainArguments& arguments) {
  return arguments.resume ? ExistingFolder::kResume : arguments.overwrite ? ExistingFolder::kOverwrite : ExistingFolder::kRefuse;
}

// Rank 0's: the other ranks have nothing to judge, and what is wrong with it is told to them.
void add_observers(TrainInput& input, const Config& resolved, DataWatch& watch) {
  const auto take = [&input](const std::shared_ptr<TrainObserver>& observer) {
    if (observer != nullptr) input.observers.push_back(observer);
  };
  const auto images = std::dynamic_pointer_cast<const Dataset>(input.dataset);
  if (images == nullptr) return take(make_neighbour_evaluation(input.recipe, resolved, *input.dataset, watch, *input.progress, *input.log));
  take(make_training_evaluation(input.recipe, resolved, images, watch, *input.progress, *input.log));
  take(make_option_estimates(input.recipe, images, *input.progress, *input.log));
}

int train_one(const TrainArguments& arguments, const Config& config, TrainInput input) {
  if (arguments.overwrite) refuse_emptying(input.recipe.output, files_named_in(config));
  const bool leads = input.ranks->leads();
  const auto progress = leads ? terminal_progress() : std::make_unique<Progress>();
  const auto log = leads ? terminal_log() : std::make_unique<Log>();
  DataWatch watch(input.recipe.verify, *progress, *log);
  input.dataset = watch.open_samples("train", input.recipe.train_data);
  const bool has_images = dynamic_cast<const Dataset*>(input.dataset.get()) != nullptr;
  if (has_images && input.recipe.eval_views.is_null()) {
    input.recipe.eval_views = default_eval_views(input.recipe.views_section, input.dataset->info());
  }
  keep_vocabulary(input);
  input.progress = progress.get();
  input.log = log.get();
  const Config resolved = resolve_recipe(input.recipe, *input.dataset);
  if (leads) add_observers(input, resolved, watch);  // refuses bad options before anything runs
  if (arguments.dry_run) {
    print_plan(plan_training(input), input.recipe.train, resolved, arguments.json);
    return 0;
  }
  input.data = watch.record();
  input.data_change = arguments.accept_data_change ? DataChange::kAccept : DataChange::kRefuse;
  input.data_roots = roots_of(data_of(input.recipe));
  const TrainResult result = train(input);
  if (!leads) return 0;
  print_outcome({result.folder, result.epochs, result.already_finished, result.seconds, result.metrics}, arguments.json,
                nlohmann::ordered_json::object());
  if (result.failed_evaluations.empty()) return 0;
  const auto& [epoch, reason] = result.failed_evaluations.front();
  const size_t more = result.failed_evaluations.size() - 1;
  throw Error(ErrorKind::kFailure, fmt::format("train: trained to the end, but the evaluation after epoch {} failed: {}{}", epoch, reason,
                                               more == 0 ? "" : fmt::format(" ({} later ones, too)", more)));
}

int launch(const TrainArguments& arguments, const Recipe& recipe, StopSignals& signals) {
  const int64_t most = recipe.train.batch_size();
  if (arguments.ranks > most)
    throw usage_error("train: --ranks {} is more than the {} samples of a batch; lower it, or raise batch_size", arguments.ranks, most);
  signals.all_saved = false;
  return launch_ranks({.ranks = arguments.ranks, .words = own_words(), .signals = &signals});
}

int train_as_rank(const TrainArguments& arguments, const Config& config, TrainInput input, RankStart start) {
  const auto seconds = [](double count) { return std::chrono::milliseconds(static_cast<int64_t>(count * 1000)); };
  name_stopped_process(fmt::format("rank {} of {}", start.place.rank, start.place.size));
  start.rendezvous.step = seconds(input.recipe.train.rank_timeout());
  start.rendezvous.setup = std::min(start.rendezvous.setup, start.rendezvous.step);
  const Ranks ranks(start.place, start.rendezvous);
  input.ranks = &ranks;
  if (start.is_restart) input.existing = ExistingFolder::kResume;
  return tell_failures(ranks, [&] { return train_one(arguments, config, std::move(input)); });
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
  if (is_agent_recipe(config)) {
    throw usage_error("train: '{}' is the recipe of an agent; run debias rl train with it", arguments.recipe);
  }
  input.recipe = read_recipe(config);
  const bool is_launched = std::getenv(kLauncherVariable) != nullptr;
  if (!is_launched && arguments.ranks > 1 && !arguments.meeting.rendezvous.empty()) {
    throw usage_error("train: --ranks {} starts all processes and opens the port at which they meet; leave --rendezvous out",
                      arguments.ranks);
  }
  const auto start = rank_start(arguments.meeting);
  if (start && !is_launched && arguments.ranks > 1) {
    throw usage_error("train: --ranks {} and an environment that says this is rank {} of {}; leave --ranks out", arguments.ranks,
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
  auto* verb = root.add_subcommand("train", "trains an encoder as a recipe says");
  auto arguments = std::make_shared<TrainArguments>();
  verb->add_option("recipe", arguments->recipe,
                   "a YAML file, the name of a recipe (debias list recipes), or a run folder (its config.yaml)")
      ->required();
  verb->add_option("words", arguments->words, "key.sub=value: overrides of the recipe");
  verb->add_option("--ranks", arguments->ranks, "so many processes on this machine share each batch (docs/distributed.md)");
  verb->add_option("--rendezvous", arguments->meeting.rendezvous, "HOST:PORT or file:PATH, where processes of mpirun and srun meet");
  verb->add_option("--interface", arguments->meeting.interface, "of the network between the processes, such as eth0");
  verb->add_flag("--resume", arguments->resume, "go on where the output folder's run stopped, bit for bit");
  verb->add_flag("--overwrite", arguments->overwrite, "start again in an existing run folder");
  verb->add_flag("--accept-data-change", arguments->accept_data_change, "with --resume, go on with data that are not what they were");
  verb->add_flag("--dry-run", arguments->dry_run, "print the resolved recipe and a time and memory plan, then stop");
  verb->add_flag("--json", arguments->json, "one JSON object on standard output");
  verb->footer("Example: debias train recipes/demo/debiased_negatives.yaml train.epochs=2 output=runs/try");
  verb->callback([arguments, &action] { action = [arguments] { return run_train(*arguments); }; });
}

}  // namespace debias
