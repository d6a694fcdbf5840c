#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <filesystem>

#include "apps/debias/arguments.h"
#include "apps/debias/results.h"
#include "apps/debias/verbs.h"
#include "debias/core/error.h"
#include "debias/core/paths.h"
#include "debias/data/builders/atomic_folder.h"
#include "debias/fix/fixed_folder.h"
#include "debias/fix/fixed_text.h"
#include "debias/process/terminal.h"
#include "debias/runs/run_embedding.h"
#include "debias/runtime/device.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

struct FixArguments {
  TableArguments table;
  RunToEmbed run;
  FixOptions options;
  std::string out, apply;
  std::optional<Condition> fail_if;
  std::vector<std::string> group;
  std::vector<std::string> of_fit;  // names of given options that --apply has no use for
  int64_t threads = 0;
  bool json = false, verbose = false;
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// As fix.json calls them.
NamedMetrics named_of_folds(NamedMetrics metrics) {
  constexpr std::string_view kValid = "valid.";
  for (auto& [name, value] : metrics) {
    if (name.starts_with(kValid)) name = "folds." + name.substr(kValid.size());
  }
  return metrics;
}

int fix_table(const FixArguments& arguments) {
  const FixOptions& options = arguments.options;
  const auto progress = terminal_progress();
  const auto log = terminal_log();
  refuse_overwriting("fix", {arguments.out}, {arguments.table.vectors, arguments.table.csv});
  AtomicFolder folder(arguments.out);
  const bool of_run = !arguments.run.path.empty();
  const FeatureTableFiles files = of_run ? embed_table(arguments.run, folder.building(), *progress, *log) : arguments.table.files();
  FixRecipe recipe{files, arguments.table.columns(), options};
  if (!arguments.group.empty()) recipe.columns.groups = arguments.group;
  const FeatureTable table = open_feature_table(files, recipe.columns);
  recipe.files = of_run ? FeatureTableFiles{.vectors = fs::path(files.vectors).filename(), .csv = fs::path(files.csv).filename()}
                        : FeatureTableFiles{.vectors = real_path(files.vectors), .csv = real_path(table.rows.path), .key = files.key};
  for (const auto& remark : table.remarks) log->info(remark);
  const auto begin = std::chrono::steady_clock::now();
  const FixResult result = fix(table, options, *progress, recipe.columns.groups.has_value());
  const double seconds = seconds_since(begin);
  const FixedEvaluations evaluations = evaluate_fixed(table, result, static_cast<uint64_t>(options.seed), *progress);
  const FixedOutcome outcome{table, recipe, result, evaluations, seconds, DEBIAS_VERSION};
  NamedMetrics after = evaluations.after.groups.record.metrics;
  if (evaluations.by_folds) after = named_of_folds(after);
  if (arguments.fail_if) metrics_of(*arguments.fail_if, after);  // an unknown name is rejected before anything is left on disk
  write_fixed(folder.building(), outcome);
  folder.commit();
  for (const auto& note : result.notes) log->warn(note);
  for (const auto& note : evaluations.notes) log->warn(note);
  if (arguments.json) {
    print_json(to_json(outcome));
  } else {
    const TextStyle style = text_style(arguments.verbose);
    print_text(fixed_text(outcome, arguments.out, style), style, result.changed ? Tone::kGood : Tone::kNeutral);
  }
  if (arguments.fail_if) check_condition(*arguments.fail_if, after, "fix");
  return 0;
}

int apply_fixed(const FixArguments& arguments) {
  if (!arguments.table.given()) throw usage_error("fix: --apply needs the vectors to correct; give --embeddings Z.npy");
  if (fs::path(arguments.out).extension() != ".npy") {
    throw usage_error("fix: --out '{}' does not end in .npy; --apply writes an array", arguments.out);
  }
  const FixedModel model = read_fixed(arguments.apply);
  const FeatureTableFiles own = read_fix_recipe(arguments.apply).files;  // which eval reads again
  refuse_overwriting(
      "fix", {arguments.out},
      {arguments.table.vectors, own.vectors, own.csv, arguments.apply + "/layer.safetensors", arguments.apply + "/head.safetensors"});
  require_folder_of(arguments.out);
  const FeatureVectors vectors = FeatureVectors::open(arguments.table.vectors, arguments.table.key);
  write_fixed_features(model, vectors, arguments.out);
  const std::vector<std::string> notes = model.range ? range_notes(*model.range, vectors) : std::vector<std::string>();
  const auto log = terminal_log();
  for (const auto& note : notes) log->warn(note);
  if (arguments.json) {
    print_json({{"files", {arguments.out}},
                {"count", vectors.rows()},
                {"dimensions", vectors.dimensions()},
                {"rank", model.layer.rank()},
                {"notes", notes}},
               -1);
  } else {
    print_lines(fmt::format("{}: {} vectors of {} dimensions, corrected along {} directions\n", arguments.out, vectors.rows(),
                            vectors.dimensions(), model.layer.rank()));
  }
  return 0;
}

int run_fix(const FixArguments& arguments) {
  check_options(arguments.options, "fix");
  use_threads(arguments.threads > 0 ? std::optional(arguments.threads) : std::nullopt);
  if (!arguments.apply.empty()) {
    if (!arguments.run.path.empty()) throw usage_error("fix: --apply takes --embeddings, not a run");
    if (arguments.fail_if) throw usage_error("fix: --apply computes no metrics; leave out --fail-if");
    if (!arguments.of_fit.empty()) {
      throw usage_error("fix: --apply fits nothing and reads vectors alone; leave out {}", fmt::join(arguments.of_fit, ", "));
    }
    return apply_fixed(arguments);
  }
  if (arguments.run.path.empty() != arguments.table.given()) {
    throw usage_error("fix: pass exactly one of RUN or --embeddings");
  }
  return fix_table(arguments);
}

}  // namespace

void add_fix_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("fix", "corrects frozen features for a bias with an affine layer and a linear head, in seconds");
  auto arguments = std::make_shared<FixArguments>();
  verb->add_option("run", arguments->run.path, "a run folder or a checkpoint, whose data sets are embedded first");
  auto* embeddings = verb->add_option("--embeddings", arguments->table.vectors, "vectors [n, D] of any encoder: .npy or .safetensors");
  std::vector<CLI::Option*> of_fit = add_table_columns(*verb, *embeddings, arguments->table);
  std::erase_if(of_fit, [](const CLI::Option* option) { return option->get_name() == "--key"; });
  of_fit.push_back(
      verb->add_option("--group", arguments->group,
                       "columns whose values name rows that belong together, such as patients: folds and intervals are of them (group)")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->option_text("COLUMN,...")
          ->needs(embeddings));
  verb->add_option("--out", arguments->out, "folder to write, which must not exist; with --apply, a .npy file, replaced if it exists")
      ->required();
  const OptionVisitor options = described(arguments->options);
  const std::string methods = fmt::format("{}", fmt::join(options.find("method")->type->choices, ", "));
  of_fit.push_back(add_described(*verb, options, "method", "fix", methods));
  of_fit.push_back(add_described(*verb, options, "keep", "fix"));
  of_fit.push_back(add_described(*verb, options, "seed", "fix"));
  verb->add_option("--apply", arguments->apply, "apply the layer in this folder to --embeddings; --out is the corrected array")
      ->option_text("DIR");
  of_fit.push_back(verb->add_option("--root", arguments->run.root, "folder where the run's data are now"));
  of_fit.push_back(
      verb->add_option("--checkpoint", arguments->run.which, "last, best or previous")->check(CLI::IsMember({"last", "best", "previous"})));
  of_fit.push_back(verb->add_option("--device", arguments->run.device, "device of the run's encoder: auto, cpu or cuda"));
  verb->add_option("--threads", arguments->threads, "number of CPU threads; does not change the result")->check(CLI::Range(1, 4096));
  add_fail_if(*verb, arguments->fail_if, "condition of exit code 1 on a metric after the correction")
      ->option_text("'test.worst_group_acc<0.6'");
  add_verbose(*verb, arguments->verbose, "accuracies of all splits, with 95 % intervals");
  verb->add_flag("--json", arguments->json, "one JSON object on standard output");
  verb->footer("Example: debias fix --embeddings Z.npy --csv C.csv --out fixed && debias report fixed");
  verb->callback([arguments, of_fit, &action] {
    for (const CLI::Option* option : of_fit) {
      if (option->count() > 0) arguments->of_fit.push_back(option->get_name());
    }
    action = [arguments] { return run_fix(*arguments); };
  });
}

}  // namespace debias
