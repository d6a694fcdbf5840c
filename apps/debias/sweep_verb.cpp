#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "apps/debias/agent_runs.h"
#include "apps/debias/results.h"
#include "apps/debias/seed_runs.h"
#include "apps/debias/verbs.h"
#include "debias/core/cpu_share.h"
#include "debias/core/error.h"
#include "debias/core/human_units.h"
#include "debias/core/paths.h"
#include "debias/process/stop_signals.h"
#include "debias/process/terminal.h"
#include "debias/report/sections/missing_parts.h"
#include "debias/runs/recipe_lookup.h"
#include "debias/runs/sweep_check.h"
#include "debias/runs/sweep_runner.h"
#include "debias/sweep/sweep_plan.h"
#include "debias/sweep/sweep_record.h"

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

// Of the runs to do, by point.
std::vector<size_t> left_by_point(const SweepPlan& plan, const std::vector<size_t>& to_do) {
  std::vector<size_t> left(plan.points.size());
  for (const size_t run : to_do) ++left[run / plan.seeds.size()];
  return left;
}

std::string point_line(const SweepPlan& plan, size_t number, const CheckedPoint& point, size_t left, bool is_timed) {
  const std::string label = plan.points[number].label();
  return fmt::format("  {:<44} {:>3} to do, {} epochs of {} steps{}\n", label.empty() ? "(as in the recipe)" : label, left, point.epochs,
                     point.steps_per_epoch, is_timed ? ", " + duration_text(point.seconds()) + " a run" : "");
}

// Of points that were not looked at (another shard's) the JSON has the state alone.
int print_sweep_plan(const SweepArguments& arguments, const SweepPlan& plan, const SweepRecord& record, const std::vector<size_t>& to_do,
                     const CheckedPoints& points) {
  const std::vector<size_t> left = left_by_point(plan, to_do);
  double seconds = 0;
  for (const auto& [number, point] : points) seconds += point.seconds() * static_cast<double>(left[number]);
  if (arguments.json) {
    nlohmann::ordered_json out = json_of(plan, record);
    out["to_do"] = to_do.size();
    for (size_t i = 0; i < out["runs"].size(); ++i) {
      const auto found = points.find(i / plan.seeds.size());
      if (found == points.end()) continue;
      const CheckedPoint& point = found->second;
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
  for (const auto& [number, point] : points) lines += point_line(plan, number, point, left[number], !arguments.check);
  if (!arguments.check) {
    lines += fmt::format("time, without evaluations: {}{}\n", duration_text(seconds),
                         arguments.jobs == 1
                             ? " one after another"
                             : fmt::format(" of all jobs, {} with --jobs {}", duration_text(seconds / arguments.jobs), arguments.jobs));
  }
  print_lines(lines);
  return 0;
}

int print_commands(const SweepPlan& plan, const std::vector<size_t>& to_do, Log& log) {
  if (to_do.empty()) log.info(fmt::format("{}: no run is left to do, so no command is printed", plan.output));
  std::string lines;
  for (const size_t run : to_do) {
    lines += "debias";
    for (const auto& word : write_run_recipe(plan, plan.runs[run])) lines += " " + shell_word(word);
    lines += "\n";
  }
  print_lines(lines);
  return 0;
}

int run_all(const SweepArguments& arguments, const SweepPlan& plan, const CheckedPoints& points, const Shard& shard, Log& log) {
  StopSignals& signals = watch_stop_signals();
  signals.all_saved = false;  // the runs in progress are to save first
  const SweepRecord after = run_sweep(plan, points, {shard, arguments.jobs}, signals, log);
  if (arguments.json) print_json(json_of(plan, after));
  require_finished(plan, after, shard, signals.received.load());
  if (!arguments.json) {
    print_lines(fmt::format("{}: {} {} {}; debias {} {} compares them\n", plan.output, plan.runs.size(),
                            plan.runs.size() == 1 ? "run" : "runs", shard.of == 1 ? "finished" : "in all, those of this shard finished",
                            plan.points.size() > 1 ? "table" : "report", shell_word(plan.output)));
  }
  return 0;
}

int run_sweep_verb(const SweepArguments& arguments) {
  const Shard shard = parse_shard(arguments.shard);
  if (arguments.jobs < 1) throw usage_error("sweep: --jobs {}: give 1 or more", arguments.jobs);
  SweepPlan plan = read_sweep(find_recipe(arguments.file), arguments.words, find_recipe);
  const auto progress = terminal_progress();
  const auto log = terminal_log();
  const SweepRecord record = sweep_record_if_any(plan);
  const bool plans_alone = arguments.dry_run || arguments.check;
  const auto points = check_sweep(plan,
                                  {.timed = arguments.dry_run && !arguments.check,
                                   .threads = arguments.jobs == 1 ? 0 : std::max(1, available_cpus() / arguments.jobs),
                                   .points = plans_alone ? std::optional(points_of(plan, shard)) : std::nullopt,
                                   .agents = {resolved_agent, planned_agent}},
                                  *progress, *log);
  if (plans_alone) return print_sweep_plan(arguments, plan, record, runs_to_do(plan, record, shard), points);
  if (arguments.print_commands) {
    const auto opened = open_sweep_record(plan);
    return print_commands(plan, runs_to_do(plan, opened, shard), *log);
  }
  return run_all(arguments, plan, points, shard, *log);
}

}  // namespace

int train_seeds(SweepPlan plan, SeedsMode mode) {
  plan.verb = "train";
  plan.again = "the same command with --resume";
  const auto progress = terminal_progress();
  const auto log = terminal_log();
  const SweepRecord record = sweep_record_if_any(plan);
  SweepArguments arguments;
  arguments.dry_run = mode.dry_run;
  arguments.json = mode.json;
  const auto points = check_sweep(plan, {.timed = mode.dry_run, .agents = {resolved_agent, planned_agent}}, *progress, *log);
  if (mode.dry_run) return print_sweep_plan(arguments, plan, record, runs_to_do(plan, record, {}), points);
  return run_all(arguments, plan, points, {}, *log);
}

void add_sweep_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("sweep", "trains many runs of one recipe: variants, a grid, seeds; resumes where it stopped");
  auto arguments = std::make_shared<SweepArguments>();
  verb->add_option("file", arguments->file,
                   "a YAML file with base, variants, grid, seeds and output, or the name of one (debias list recipes)")
      ->required();
  verb->add_option("overrides", arguments->words, "key.sub=value: overrides of every run; output=, seeds= and metric= of the sweep");
  verb->add_option("--jobs", arguments->jobs, "number of runs at a time, which share the CPU cores (1)")->option_text("N");
  verb->add_option("--shard", arguments->shard, "only the runs i, i + n, i + 2n, ...")->option_text("i/n");
  verb->add_flag("--print-commands", arguments->print_commands, "write each run's recipe and print its command, for other schedulers");
  verb->add_flag("--dry-run", arguments->dry_run, "check every setting, print the number of runs and the time, then stop");
  verb->add_flag("--check", arguments->check, "check every setting, without trial steps to estimate the time, then stop");
  verb->add_flag("--json", arguments->json, "one JSON object on standard output");
  verb->footer("Example: debias sweep small/biased_mnist --jobs 2");
  verb->callback([arguments, &action] { action = [arguments] { return run_sweep_verb(*arguments); }; });
}

}  // namespace debias
