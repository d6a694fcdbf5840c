#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/debias/arguments.h"
#include "apps/debias/results.h"
#include "apps/debias/verbs.h"
#include "debias/core/error.h"
#include "debias/core/paths.h"
#include "debias/process/terminal.h"
#include "debias/runs/prior_estimates.h"
#include "debias/train/recipe/marked_prior.h"

namespace debias {
namespace {

struct PriorArguments {
  PriorRequest run;
  std::string marks;
  LossFiles files;
  TableArguments table;
  bool json = false;
};

bool is_of_table(const PriorArguments& arguments) {
  const TableArguments& table = arguments.table;
  if (!table.csv.empty()) return true;
  if (arguments.files.embeddings.empty() || !arguments.files.labels.empty()) return false;
  const bool asks_for_one =
      !table.key.empty() || !table.label.empty() || !table.biases.empty() || !table.numeric.empty() || !table.groups.empty();
  return asks_for_one || is_feature_table(arguments.files.embeddings);
}

std::vector<PriorEstimate> priors_of_table(const PriorArguments& arguments, Log& log) {
  if (!arguments.files.labels.empty()) throw usage_error("prior: --labels and --csv both give labels; give one");
  TableArguments table = arguments.table;
  table.vectors = arguments.files.embeddings;
  return table_priors(table.files(), table.columns(), log);
}

int print_marked_prior(const PriorArguments& arguments) {
  const MarkedPrior prior = prior_from_marks(arguments.marks);
  arguments.json ? print_json(to_json(prior)) : print_lines(prior_text(prior));
  return 0;
}

int run_prior(const PriorArguments& arguments) {
  if (!arguments.marks.empty()) {
    if (!arguments.run.run.empty() || !arguments.files.embeddings.empty() || !arguments.files.labels.empty())
      throw usage_error("prior: --marks is an estimate of its own; leave RUN, --embeddings and --labels out");
    return print_marked_prior(arguments);
  }
  if (arguments.run.run.empty() == arguments.files.embeddings.empty()) {
    throw usage_error("prior: pass exactly one of RUN or --embeddings");
  }
  if (arguments.files.embeddings.empty() && !arguments.files.labels.empty()) {
    throw usage_error("prior: --labels needs --embeddings; a run has the labels of its data set");
  }
  const auto log = terminal_log();
  if (!arguments.table.groups.empty() && !arguments.run.run.empty()) {
    PriorArguments grouped = arguments;
    grouped.run.groups = fmt::format("{}", fmt::join(arguments.table.groups, ","));
    grouped.table.groups.clear();
    return run_prior(grouped);
  }
  const std::vector<PriorEstimate> found = is_of_table(arguments)      ? priors_of_table(arguments, *log)
                                           : arguments.run.run.empty() ? embedding_priors(arguments.files, *log)
                                                                       : run_priors(arguments.run, *terminal_progress(), *log);
  if (arguments.json) {
    nlohmann::ordered_json out = to_json(found.front());
    if (found.size() > 1) out["other"] = to_json(found.back());
    print_json(out);
    return 0;
  }
  for (const auto& estimate : found) print_lines(prior_text(estimate));
  return 0;
}

std::string footer() {
  std::string text =
      "tau_plus is the probability that a random negative shares the anchor's class. From labels: the share of pairs that agree, with a\n"
      "95 % interval. Without labels: the smallest ratio, over cosine thresholds, of random pairs to pairs of views, with a 95 % bound.\n";
  for (const auto& [name, method] : EnumNames<PriorMethod>::values) {
    for (const auto& assumption : assumptions(method)) text += fmt::format("Assumption of {}: {}.\n", name, assumption);
  }
  return text + "Example: debias prior runs/first --json";
}

}  // namespace

void add_prior_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("prior", "estimates tau_plus, the probability that a negative shares the anchor's class");
  auto arguments = std::make_shared<PriorArguments>();
  verb->add_option("run", arguments->run.run, "a run folder or a checkpoint; uses the labels and the embeddings of its training set");
  auto* embeddings = verb->add_option("--embeddings", arguments->files.embeddings,
                                      "z.npy [B, V, D] (views, V >= 2), or [N, D] with labels in a CSV or --labels");
  add_table_columns(*verb, *embeddings, arguments->table);
  add_group_columns(*verb, "pairs of one group do not count", arguments->table.groups);
  verb->add_option("--labels", arguments->files.labels, "y.npy [B], integers, -1 unknown");
  verb->add_option("--marks", arguments->marks, "answers to random pairs (debias pairs --sample), in place of a run")
      ->option_text("FILE.csv")
      ->transform(with_home);
  verb->add_option("--images", arguments->run.images, "maximum number of a run's images whose two views are compared (4096)")
      ->check(CLI::Range(kLeastImagesOfViews, int64_t{1} << 20));
  verb->add_option("--root", arguments->run.root, "folder where the run's training set is now");
  verb->add_option("--checkpoint", arguments->run.which, "last, best or previous")->check(CLI::IsMember({"last", "best", "previous"}));
  verb->add_option("--device", arguments->run.device, "auto, cpu or cuda");
  verb->add_flag("--json", arguments->json, "one JSON object on standard output");
  verb->footer(footer());
  verb->callback([arguments, &action] { action = [arguments] { return run_prior(*arguments); }; });
}

}  // namespace debias
