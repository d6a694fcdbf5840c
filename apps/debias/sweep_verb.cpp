#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "apps/debias/duration_text.h"
#include "apps/debias/output_path.h"
#include "apps/debias/recipe_lookup.h"
#include "apps/debias/results.h"
#include "apps/debias/stop_signals.h"
#include "apps/debias/sweep_check.h"
#include "apps/debias/sweep_runner.h"
#include "apps/debias/terminal.h"
#include "apps/debias/verbs.h"
#include "debias/core/cpu_share.h"
#include "debias/core/error.h"
#include "debias/report/metric_title.h"
#include "debias/report/missing_parts.h"
#include "debias/sweep/folder_lock.h"
#include "debias/sweep/sweep_plan.h"
#include "debias/sweep/sweep_record.h"
#include "debias/train/hyper_parameters.h"
#include "debias/train/tensorboard.h"

namespace debias {
namespace {

struct SweepArguments {
  std::string file, shard;
  std::vector<std::string> words;
  int jobs = 1;
  bool dry_run = false, check = false, print_commands = false, json = false;
};

Shard parse_shard(const std::string& text) {
  if (text.empty()) return {};
  Shard shard;
  const char *begin = text.data(), *end = begin + text.size();
  const auto [slash, first] = std::from_chars(begin, end, shard.number);
  if (first == std::errc() && slash != end && *slash == '/') {
    const auto [last, second] = std::from_chars(slash + 1, end, shard.of);
    if (second == std::errc() && last == end && shard.number >= 1 && shard.number <= shard.of) return shard;
  }
  throw usage_error("sweep: --shard '{}' is not of the form i/n with 1 <= i <= n, such as 2/8", text);
}

SweepRecord record_if_any(const SweepPlan& plan) {
  require_own_output(plan);
  return has_sweep_record(plan.output) ? read_sweep_record(plan.output) : SweepRecord{plan.metric, plan.grid, {}};
}

nlohmann::ordered_json json_of(const SweepPlan& plan, const SweepRecord& record) {
  nlohmann::ordered_json out = {
      {"file", plan.file}, {"output", plan.output}, {"metric", plan.metric}, {"runs", nlohmann::ordered_json::array()}};
  for (const auto& run : plan.runs) {
    const RecordedRun* known = record.find(run.name());
    nlohmann::ordered_json line = {{"name", run.name()},
                                   {"variant", run.point.variant},
                                   {"grid", nlohmann::ordered_json::object()},
                                   {"seed", run.seed},
                                   {"state", to_text(known == nullptr ? RunState::kWaiting : known->state)}};
    for (const auto& [key, value] : run.point.grid) line["grid"][key] = value;
    if (known != nullptr && known->state == RunState::kFailed) {
      line["exit"] = known->exit;
      line["message"] = known->message;
    }
    out["runs"].push_back(std::move(line));
  }
  return out;
}

std::string counted(size_t count, const char* one, const char* many) { return fmt::format("{} {}", count, count == 1 ? one : many); }

std::string size_text(const SweepPlan& plan) {
  return fmt::format("{} ({}, {} each)", counted(plan.runs.size(), "run", "runs"), counted(plan.points.size(), "setting", "settings"),
                     counted(plan.seeds.size(), "seed", "seeds"));
}

// Of the runs to do, by point.
std::vector<size_t> left_by_point(const SweepPlan& plan, const std::vector<size_t>& to_do) {
  std::vector<size_t> left(plan.points.size());
  for (const size_t run : to_do) ++left[run / plan.seeds.size()];
  return left;
}

int print_sweep_plan(const SweepArguments& arguments, const SweepPlan& plan, const SweepRecord& record, const std::vector<size_t>& to_do,
                     const std::vector<CheckedPoint>& points) {
  const std::vector<size_t> left = left_by_point(plan, to_do);
  double seconds = 0;
  for (size_t i = 0; i < points.size(); ++i) seconds += points[i].seconds() * static_cast<double>(left[i]);
  if (arguments.json) {
    nlohmann::ordered_json out = json_of(plan, record);
    out["to_do"] = to_do.size();
    for (size_t i = 0; i < out["runs"].size(); ++i) {
      const CheckedPoint& point = points[i / plan.seeds.size()];
      out["runs"][i]["recipe"] = recipe_of(point, plan.runs[i]).to_json();
      out["runs"][i]["epochs"] = point.epochs;
      out["runs"][i]["steps_per_epoch"] = point.steps_per_epoch;
      if (!arguments.check) out["runs"][i]["seconds"] = point.seconds();
    }
    if (!arguments.check) out["seconds_to_do"] = seconds;
    print_json(out);
    return 0;
  }
  std::string lines = fmt::format("{}: {}, {} to do\n", plan.file, size_text(plan), to_do.size());
  for (size_t i = 0; i < points.size(); ++i) {
    const std::string label = plan.points[i].label();
    lines += fmt::format("  {:<44} {:>3} to do, {} epochs of {} steps{}\n", label.empty() ? "(as in the recipe)" : label, left[i],
                         points[i].epochs, points[i].steps_per_epoch,
                         arguments.check ? "" : ", " + duration_text(points[i].seconds()) + " a run");
  }
  if (!arguments.check) {
    lines += fmt::format("time, evaluations not counted: {}{}\n", duration_text(seconds),
                         arguments.jobs == 1
                             ? " one after another"
                             : fmt::format(" of all jobs, {} with --jobs {}", duration_text(seconds / arguments.jobs), arguments.jobs));
  }
  print_lines(lines);
  return 0;
}

int print_commands(const SweepPlan& plan, const std::vector<size_t>& to_do) {
  std::string lines;
  for (const size_t run : to_do) {
    lines += "debias";
    for (const auto& word : write_run_recipe(plan, plan.runs[run])) lines += " " + shell_word(word);
    lines += "\n";
  }
  print_lines(lines);
  return 0;
}

// What became of the shard's runs, as an exit code with its line.
void complain_of_unfinished(const SweepPlan& plan, const SweepRecord& record, const Shard& shard, int signal) {
  size_t failed = 0, unfinished = 0;
  std::string first;
  for (size_t i = 0; i < plan.runs.size(); ++i) {
    const RecordedRun* run = record.find(plan.runs[i].name());
    if (!shard.has(i) || run == nullptr || run->state == RunState::kFinished) continue;
    ++unfinished;
    if (run->state == RunState::kFailed && ++failed == 1) first = fmt::format("{} (exit {}): {}", run->name(), run->exit, run->message);
  }
  if (unfinished == 0) return;
  const bool stopped = signal != 0 || unfinished > failed;
  const std::string more = failed > 1 ? fmt::format(" ({} others failed, too)", failed - 1) : "";
  if (!stopped) {
    throw Error(ErrorKind::kFailure, fmt::format("sweep: {} of {} failed: {}{}; the same command tries again", failed,
                                                 counted(plan.runs.size(), "run", "runs"), first, more));
  }
  throw Error(ErrorKind::kInterrupted, fmt::format("sweep: stopped with {} to go{}; the same command goes on",
                                                   counted(unfinished, "run", "runs"), failed == 0 ? "" : ", " + first + more));
}

// The options that differ between settings, for TensorBoard, where the sweep's folder is one table then.
void write_experiment(const SweepPlan& plan, const std::vector<CheckedPoint>& points) {
  std::vector<std::string> order = {"seed"};
  std::map<std::string, std::set<std::string>> values;
  for (const auto& point : points) {
    for (const auto& [name, value] : hyper_parameters(point.recipe)) {
      if (values[name].insert(value.text()).second && values[name].size() == 2 && name != "seed") order.push_back(name);
    }
  }
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(plan.output, ignored)) {
    if (entry.path().filename().string().starts_with("events.out.tfevents.")) std::filesystem::remove(entry.path(), ignored);
  }
  const auto metrics = metric_names(plan.metric);
  const std::string first_metric = metrics.empty() ? "" : metrics.front();
  TensorBoardWriter(plan.output).plugin(kExperimentTag, kHyperPlugin, experiment(order, {first_metric}));
}

int run_all(const SweepArguments& arguments, const SweepPlan& plan, const std::vector<CheckedPoint>& points, const Shard& shard, Log& log) {
  const auto record = open_sweep_record(plan);
  const FolderLock lock =
      FolderLock::take(plan.output, fmt::format(".shard-{}-of-{}.lock", shard.number, shard.of),
                       fmt::format("sweep: another process is at work on '{}'; wait for it, or take a --shard each", plan.output));
  write_experiment(plan, points);
  const auto to_do = runs_to_do(plan, record, shard);
  if (to_do.size() < plan.runs.size()) log.info(fmt::format("{}: {}, {} to do here", plan.output, size_text(plan), to_do.size()));
  StopSignals& signals = watch_stop_signals();
  signals.all_saved = false;  // the runs in progress are to save first
  run_sweep(plan, to_do, arguments.jobs, signals, log);
  const auto after = read_sweep_record(plan.output);
  if (arguments.json) print_json(json_of(plan, after));
  complain_of_unfinished(plan, after, shard, signals.received.load());
  if (!arguments.json) {
    print_lines(fmt::format("{}: {} {}; debias table {} compares them\n", plan.output, counted(plan.runs.size(), "run", "runs"),
                            shard.of == 1 ? "finished" : "in all, those of this shard finished", shell_word(plan.output)));
  }
  return 0;
}

int run_sweep_verb(const SweepArguments& arguments) {
  const Shard shard = parse_shard(arguments.shard);
  if (arguments.jobs < 1) throw usage_error("sweep: --jobs {}: give 1 or more", arguments.jobs);
  SweepPlan plan = read_sweep(find_recipe(arguments.file), arguments.words, find_recipe);
  const auto progress = terminal_progress();
  const auto log = terminal_log();
  const SweepRecord record = record_if_any(plan);
  const bool timed = arguments.dry_run && !arguments.check;
  const auto points = check_sweep(plan, {timed, arguments.jobs == 1 ? 0 : std::max(1, available_cpus() / arguments.jobs)}, *progress, *log);
  if (arguments.dry_run || arguments.check) return print_sweep_plan(arguments, plan, record, runs_to_do(plan, record, shard), points);
  if (arguments.print_commands) {
    const auto opened = open_sweep_record(plan);
    return print_commands(plan, runs_to_do(plan, opened, shard));
  }
  return run_all(arguments, plan, points, shard, *log);
}

}  // namespace

void add_sweep_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("sweep", "many runs of one recipe: variants, a grid, seeds; goes on where it stopped");
  auto arguments = std::make_shared<SweepArguments>();
  verb->add_option("file", arguments->file, "a sweep: base, variants, grid, seeds, output (docs/sweeps.md)")->required();
  verb->add_option("words", arguments->words, "key.sub=value: overrides of every run; output=, seeds= and metric= of the sweep");
  verb->add_option("--jobs", arguments->jobs, "runs at a time, which share the processors (1)")->option_text("N");
  verb->add_option("--shard", arguments->shard, "only runs i, i + n, ... of them all")->option_text("i/n");
  verb->add_flag("--print-commands", arguments->print_commands, "write each run's recipe and print its command, for other schedulers");
  verb->add_flag("--dry-run", arguments->dry_run, "check every setting, print the number of runs and the time, then stop");
  verb->add_flag("--check", arguments->check, "the same without trial steps for the time");
  verb->add_flag("--json", arguments->json, "one JSON object on standard output");
  verb->footer("Example: debias sweep recipes/small/biased_mnist.yaml --jobs 2");
  verb->callback([arguments, &action] { action = [arguments] { return run_sweep_verb(*arguments); }; });
}

}  // namespace debias
