#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>

#include "apps/debias/judged_run.h"
#include "apps/debias/metric_text.h"
#include "apps/debias/online_accuracy.h"
#include "apps/debias/option_estimates.h"
#include "apps/debias/recipe_lookup.h"
#include "apps/debias/terminal.h"
#include "apps/debias/training_evaluation.h"
#include "apps/debias/verbs.h"
#include "debias/core/error.h"
#include "debias/train/trainer.h"

namespace debias {
namespace {

std::atomic<int> stop_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void remember_signal(int signal) {
  if (stop_signal.exchange(signal) != 0 && signal != SIGUSR1) _exit(128 + signal);  // a second one stops at once
}

void watch_signals() {
  struct sigaction action {};
  action.sa_handler = remember_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (int signal : {SIGINT, SIGTERM, SIGUSR1}) sigaction(signal, &action, nullptr);
}

struct TrainArguments {
  std::string recipe;
  std::vector<std::string> words;
  bool resume = false, overwrite = false, dry_run = false, json = false;
};

Config read_config(const TrainArguments& arguments) {
  std::error_code ignored;
  const bool is_run = std::filesystem::exists(arguments.recipe + "/config.yaml", ignored);
  Config root = read_yaml_file(is_run ? arguments.recipe + "/config.yaml" : find_recipe(arguments.recipe));
  if (is_run && arguments.resume) root.set("output", Config::string(arguments.recipe));  // the folder may have been moved
  for (const auto& word : arguments.words) root.assign(word);
  return root;
}

std::string duration(double seconds) {
  if (seconds < 120) return fmt::format("{:.1f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.1f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string bytes(int64_t count) { return fmt::format("{:.1f} MB", static_cast<double>(count) / 1e6); }

void print_plan(const TrainPlan& plan, const TrainOptions& options, const Config& resolved, bool json) {
  const double ratio = plan.seconds_per_step / plan.seconds_per_cached_step;
  if (json) {
    const nlohmann::ordered_json out = {{"config", resolved.to_json()},
                                        {"images", plan.images},
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
    fmt::print("{}\n", out.dump(2));
    return;
  }
  fmt::print("{}\n", resolved.to_yaml());
  fmt::print("# plan, from {} trial steps of each kind (nothing was written)\n", plan.trial_steps);
  fmt::print("# images             {} ({} steps an epoch, {} epochs)\n", plan.images, plan.steps_per_epoch, plan.epochs);
  fmt::print("# parameters         {}\n", plan.parameters);
  fmt::print("# precision          {}\n", rounding(options));
  fmt::print("# step               {:.4f} s with fresh views, {:.4f} s on a cached batch: ratio {:.3f}\n", plan.seconds_per_step,
             plan.seconds_per_cached_step, ratio);
  fmt::print("# time               {} an epoch, {} in all, evaluations not counted\n", duration(plan.seconds_per_epoch),
             duration(plan.seconds_total));
  fmt::print("# memory             {} peak, resident\n", bytes(plan.peak_bytes));
  fmt::print("# disk               {} a checkpoint, two or three are kept\n", bytes(plan.checkpoint_bytes));
}

int run_train(const TrainArguments& arguments) {
  if (arguments.resume && arguments.overwrite) throw usage_error("train: --resume and --overwrite exclude each other; give one");
  const Config root = read_config(arguments);
  TrainInput input;
  input.recipe = read_recipe(root);
  input.dataset = make_dataset(input.recipe.train_data);
  const auto progress = terminal_progress();
  const auto log = terminal_log();
  input.progress = progress.get();
  input.log = log.get();
  const Config resolved = resolve_recipe(input.recipe, *input.dataset);
  const auto evaluation =
      make_training_evaluation(input.recipe, resolved, input.dataset, *progress);  // refuses bad options before anything runs
  if (arguments.dry_run) {
    print_plan(plan_training(input), input.recipe.train, resolved, arguments.json);
    return 0;
  }
  for (const auto& observer : {evaluation, make_online_accuracy(input.recipe, input.dataset, *progress),
                               make_option_estimates(input.recipe, input.dataset, *progress, *log)}) {
    if (observer != nullptr) input.observers.push_back(observer);
  }
  input.data_roots = roots_of(data_of(input.recipe));
  input.existing = arguments.resume ? ExistingFolder::kResume : arguments.overwrite ? ExistingFolder::kOverwrite : ExistingFolder::kRefuse;
  watch_signals();
  input.stop_signal = &stop_signal;
  const TrainResult result = train(input);
  if (arguments.json) {
    nlohmann::ordered_json out = {
        {"folder", result.folder}, {"epochs", result.epochs}, {"already_finished", result.already_finished}, {"seconds", result.seconds}};
    for (const auto& [name, value] : result.metrics) out["metrics"][name] = value;
    fmt::print("{}\n", out.dump(2));
    return 0;
  }
  if (result.already_finished) {
    fmt::print("{}: finished already ({} epochs); nothing was changed\n", result.folder, result.epochs);
    return 0;
  }
  fmt::print("{}: {} epochs in {}\n", result.folder, result.epochs, duration(result.seconds));
  for (const auto& [name, value] : result.metrics) {
    fmt::print("  {:<24} {}\n", name, metric_text(name, value));
  }
  return 0;
}

}  // namespace

void add_train_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("train", "trains an encoder as a recipe says");
  auto arguments = std::make_shared<TrainArguments>();
  verb->add_option("recipe", arguments->recipe,
                   "a YAML file, the name of a recipe (debias list recipes), or a run folder (its config.yaml)")
      ->required();
  verb->add_option("words", arguments->words, "key.sub=value: overrides of the recipe");
  verb->add_flag("--resume", arguments->resume, "go on where the output folder's run stopped, bit for bit");
  verb->add_flag("--overwrite", arguments->overwrite, "start again in an existing run folder");
  verb->add_flag("--dry-run", arguments->dry_run, "print the resolved recipe and a time and memory plan, then stop");
  verb->add_flag("--json", arguments->json, "one JSON object on standard output");
  verb->footer("Example: debias train recipes/demo/debiased_negatives.yaml train.epochs=2 output=runs/try");
  verb->callback([arguments, &action] { action = [arguments] { return run_train(*arguments); }; });
}

}  // namespace debias
