#include "debias/report/sections/next_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "debias/report/sections/missing_parts.h"
#include "debias/sweep/sweep_record.h"

namespace debias {
namespace {

constexpr int kSeeds = 3;

namespace fs = std::filesystem;

// The outermost folder of several seeds or of a sweep that `run` lies in; empty if it lies in none.
fs::path group_around(const fs::path& run) {
  fs::path outermost;
  for (fs::path above = run.parent_path(); above.has_relative_path(); above = above.parent_path()) {
    if (has_sweep_record(above.string())) outermost = above;
  }
  return outermost;
}

// Without the number of the seed: beside the group of `runs/sweep/wide/seed-1` that is runs/sweep-wide.
std::string name_of_output(std::string run) {
  while (run.size() > 1 && run.ends_with('/')) run.pop_back();
  if (run.empty()) return run;  // of a record that was made in code
  const fs::path whole = fs::absolute(run).lexically_normal(), group = group_around(whole);
  if (group.empty()) return run;
  std::string output = group.string();
  for (const fs::path& part : whole.parent_path().lexically_relative(group)) {
    if (part != ".") output += "-" + part.string();
  }
  return fs::path(run).is_absolute() ? output : fs::path(output).lexically_proximate(fs::current_path()).string();
}

// A folder that is not there yet, beside the run and outside its group, whose seeds it would be counted among.
std::string free_output(const std::string& run) {
  const std::string base = name_of_output(run) + "-seeds";
  std::string output = base;
  for (int number = 2; fs::exists(output); ++number) output = fmt::format("{}-{}", base, number);
  return output;
}

}  // namespace

std::string step_head(const NextStep& step) { return step.command.empty() ? "" : fmt::format("Next, for {}: ", step.why); }

std::string step_time(const NextStep& step) {
  if (step.command.empty() || std::isnan(step.minutes)) return "";
  if (step.minutes < 1) return " (less than a minute)";
  if (step.minutes < 1.5) return " (about 1 minute)";
  return step.minutes < 120 ? fmt::format(" (about {:.0f} minutes)", step.minutes)
                            : fmt::format(" (about {:.1f} hours)", step.minutes / 60);
}

std::string step_words(const NextStep& step) { return step_head(step) + step.command + step_time(step); }

NextStep train_more_seeds(const RunColumn& column) {
  const RunRecord& run = column.shown();
  if (run.is_fixed()) return {};
  int64_t largest = 0, seed = 0;
  for (const RunRecord* each : column.runs) {
    if (parse_integer(each->seed(), &seed)) largest = std::max(largest, seed);
  }
  const std::string first = column.has_seeds() ? fmt::format(" seed={}", largest + 1) : "";  // those that are there stay
  return {fmt::format("debias train {}{} --seeds {} output={}", shell_word(run.path), first, kSeeds, shell_word(free_output(run.path))),
          column.has_seeds() ? "a narrower interval over seeds" : "an interval over seeds", kSeeds * run.speed.seconds / 60};
}

NextStep evaluate_protocols(const RunRecord& run, const std::string& protocols, const std::string& why) {
  return {fmt::format("debias eval {} {}", protocols, shell_word(run.path)), why, run.speed.minutes_per_epoch};
}

NextStep give_bias_values(const RunRecord& run) {
  return {fmt::format("debias eval groups {} --labels FILE.csv", shell_word(run.path)),
          "accuracy by group, with the bias label of each evaluated image in FILE.csv (columns path and bias)",
          run.speed.minutes_per_epoch};
}

NextStep both_steps(const NextStep& first, const NextStep& second) {
  if (first.command.empty() || second.command.empty()) return {};
  return {first.command + " && " + second.command, first.why, first.minutes + second.minutes};
}

}  // namespace debias
