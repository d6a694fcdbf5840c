#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "apps/debias/results.h"
#include "apps/debias/verbs.h"
#include "debias/core/config.h"
#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/process/terminal.h"
#include "debias/report/compared_runs.h"
#include "debias/report/tables/seed_table.h"
#include "debias/report/tables/seed_table_text.h"
#include "debias/runs/compared_sweeps.h"
#include "debias/runs/recipe_lookup.h"

namespace debias {
namespace {

struct ComparisonArguments {
  std::vector<std::string> paths, metrics, fail_if;
  std::string against, epoch, format = "text";
  bool json = false, minutes = false;
};

TableFormat parse_format(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [word, format] : kTableFormats) {
    if (word == name) return format;
    known.emplace_back(word);
  }
  throw usage_error("table: unknown format '{}'{}", name, suggestion(name, known));
}

EpochChoice parse_epoch(const std::string& name) {
  if (name.empty()) return {TableEpoch::kAuto};
  if (name == "last") return {TableEpoch::kLast};
  if (name == "selected") return {TableEpoch::kSelected};
  if (int64_t number = 0; parse_integer(name, &number) && number > 0) return {TableEpoch::kNumber, number};
  if (name == "best") {
    throw usage_error(
        "table: choosing the epoch by test images biases the result; train with evaluate.select: valid.METRIC and write --epoch selected");
  }
  const std::vector<std::string> known = {"last", "selected"};
  throw usage_error("table: --epoch '{}': give last, selected or the number of an epoch, from 1{}", name,
                    nearest_name(name, known).empty() ? "" : suggestion(name, known));
}

// Options that a CSV file cannot show.
void say_notes(const SeedTable& table) {
  const auto log = terminal_log();
  log->info(fmt::format("table: {}, {}", table.metric, table.epoch));
  for (const auto& note : table.notes) log->warn("table: " + note);
}

int run_table(const ComparisonArguments& arguments) {
  const TableFormat format = parse_format(arguments.format);
  if (arguments.json && format != TableFormat::kText) throw usage_error("table: --json and --format exclude each other; give one");
  const SeedTableOptions options{arguments.metrics, arguments.against, parse_epoch(arguments.epoch)};
  std::vector<Condition> conditions;
  for (const auto& text : arguments.fail_if) conditions.push_back(parse_condition(text));
  const SeedTable table = seed_table(read_compared_runs(with_named_recipes(arguments.paths), {DEBIAS_VERSION, metric_titles()}), options);
  if (arguments.json) {
    print_json(to_json(table));
  } else {
    print_lines(seed_table_text(table, format, arguments.minutes ? MinutesColumn::kShown : MinutesColumn::kLeftOut));
    if (is_csv(format)) say_notes(table);
  }
  require_no_condition(table, conditions);
  return 0;
}

}  // namespace

void add_table_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("table", "compares the settings of a sweep over seeds, and with published numbers");
  auto arguments = std::make_shared<ComparisonArguments>();
  verb->add_option("paths", arguments->paths, "sweeps (the file, its name or its output) or run folders")->required();
  verb->add_option("--metric", arguments->metrics, "metric; if repeated, the first that a run has (default: the sweep's)")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->add_option("--epoch", arguments->epoch,
                   "last, a number from 1, or selected (by evaluate.select); default: selected if all runs have it, else last")
      ->option_text("WHICH");
  verb->add_option("--against", arguments->against, "the setting that the others are compared with (the first)")->option_text("SETTING");
  verb->add_option("--format", arguments->format, "output format: text, markdown, latex, csv, csv_differences or csv_orderings")
      ->option_text("FORMAT");
  verb->add_flag("--minutes", arguments->minutes, "add the mean training minutes of each setting (--json always has them)");
  verb->add_option("--fail-if", arguments->fail_if,
                   "condition for exit code 1, such as 'ordering.contradicted_holm>0' or 'low.fairkl.over.ce<0'; shares are from 0 to 1")
      ->allow_extra_args(false);
  verb->add_flag("--json", arguments->json, "one JSON object on standard output");
  verb->footer("Example: debias table runs/small/cifar10 --format markdown");
  verb->callback([arguments, &action] { action = [arguments] { return run_table(*arguments); }; });
}

}  // namespace debias
