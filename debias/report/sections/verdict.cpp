#include "debias/report/sections/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "debias/report/sections/evaluation_figures.h"
#include "debias/report/sections/missing_parts.h"
#include "debias/sweep/sweep_record.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

constexpr int kSeeds = 3;

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

std::string verdict_note(const ReportData& data, const std::vector<ComparisonVerdict>& comparisons) {
  std::string note;
  if (comparisons.size() > 1) {
    note =
        "Each interval is for its own comparison. \"Better\" is decided by p-values adjusted for all comparisons (Holm), as the best was "
        "chosen by the numbers that it is tested on.";
  }
  std::vector<std::vector<const RunRecord*>> columns;
  for (const auto& column : data.columns) columns.push_back(column.runs);
  if (const std::string words = shared_draw_words(columns); !words.empty()) note += (note.empty() ? "" : " ") + words + ".";
  return note;
}

namespace {

Html step_html(const NextStep& step) {
  if (step.command.empty()) return {};
  return plain(" " + step_head(step)) + code(step.command) + plain(step_time(step) + ".");
}

Html item(std::string_view css_class, const std::string& head, const std::string& words, const std::string& details, const NextStep& next) {
  return element("li", css_class, strong(head + ".") + plain(" " + words + (details.empty() ? "" : " " + details)) + step_html(next));
}

}  // namespace

std::string interval_note(const ReportData& data, const std::vector<ComparisonVerdict>& comparisons) {
  std::string predictions;
  bool any = std::ranges::any_of(comparisons, [](const ComparisonVerdict& each) { return !std::isnan(each.difference.low); });
  for (size_t i = 0; i < data.columns.size() && predictions.empty(); ++i) {
    const auto gap = gap_of(data.rows, i);
    if (!gap) continue;
    any = true;
    const std::string split = data.columns[i].shown().shown_split(gap->split);
    predictions = fmt::format("{}{}. ", gap->source.empty() ? "" : fmt::format("Predictions by {} on ", source_title(gap->source)),
                              split == gap->split ? split + " images" : "the folds of the training rows");
  }
  if (!any) return "";
  const bool any_single = std::ranges::any_of(data.columns, [](const RunColumn& each) { return !each.has_seeds(); });
  const bool any_seeds = std::ranges::any_of(data.columns, &RunColumn::has_seeds);
  const bool all_fixed = std::ranges::all_of(data.columns, [](const RunColumn& each) { return each.shown().is_fixed(); });
  const std::string of_seeds = "training again with other seeds", others = "other " + sampled_units(data.columns);
  const std::string of_images = others + " and the same network, not other seeds";
  return fmt::format("{}95 % intervals cover {}.", predictions,
                     all_fixed                  ? others
                     : any_seeds && !any_single ? of_seeds
                     : any_seeds                ? of_seeds + fmt::format(", of single runs {}", of_images)
                                                : of_images);
}

void add_verdict(Page& page, const ReportData& data) {
  const auto comparisons = comparison_verdicts(data.columns, data.rows);
  page.heading(2, "Verdict", "of each run and comparison: precise numbers, worst group, what to do next");
  Html list;
  for (size_t i = 0; i < data.columns.size(); ++i) {
    const ShortcutVerdict verdict = shortcut_verdict(data.columns, i, data.rows);
    list += item(enum_name(verdict.finding), fmt::format("{}: {}", data.columns[i].title(), verdict.head), verdict.words, verdict.details,
                 verdict.next);
  }
  for (const auto& comparison : comparisons)
    list += item(enum_name(comparison.comparison), comparison.head, comparison.words, comparison.details, comparison.next);
  page.add(element("ul", "verdict", list));
  if (const std::string note = verdict_note(data, comparisons); !note.empty()) page.paragraph(plain(note), "note");
}

}  // namespace debias
