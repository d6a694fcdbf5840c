#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <set>

#include "apps/debias/arguments.h"
#include "apps/debias/brief_help.h"
#include "apps/debias/eval_words.h"
#include "apps/debias/results.h"
#include "apps/debias/sentence_verbs.h"
#include "apps/debias/verbs.h"
#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "debias/evaluate/protocol_registry.h"
#include "debias/fix/fixed_folder.h"
#include "debias/process/terminal.h"
#include "debias/runs/run_evaluation.h"

namespace debias {
namespace {

struct EvalArguments {
  std::string protocols, run;
  std::vector<std::string> words;
  DataWords data;
  std::string which = "last", device = "auto", labels;
  std::optional<Condition> fail_if;
  TableArguments table;
  bool predictions = false, accept_data_change = false, raw = false, json = false;
};

DataChange data_change_of(const EvalArguments& arguments) {
  return arguments.accept_data_change ? DataChange::kAccept : DataChange::kRefuse;
}

// Fractions in percent, with their intervals; other numbers as they are.
std::string eval_lines(const std::string& protocol, const EvaluationResult& result) {
  std::string lines;
  for (const auto& [name, value] : result.metrics) {
    lines += fmt::format("  {:<15} {:<36} ", protocol, name);
    lines += metric_text(name, value);
    if (const auto interval = result.record.intervals.find(name); interval != result.record.intervals.end()) {
      lines += fmt::format("  [{:.2f}, {:.2f}]", 100 * interval->second.first, 100 * interval->second.second);
    }
    lines += "\n";
  }
  return lines;
}

void add_groups(const EvaluatedGroups& groups, nlohmann::ordered_json& out) {
  out["rows"] = groups.rows;
  out["groups"] = groups.groups;
  out["groups_from"] = groups.from;
  out["notes"] = nlohmann::ordered_json::array();
}

// ": 240 rows of 60 groups (column burst)"; empty where nothing says groups.
std::string groups_text(const EvaluatedGroups& groups) {
  return groups.from == "none" ? "" : fmt::format(": {} rows of {} groups ({})", groups.rows, groups.groups, groups.from);
}

// Options of protocols, and which bias labels are aligned, are all that a word may say of a table.
ChosenProtocols table_options(const EvalArguments& arguments, std::vector<RequestedProtocol>& requested) {
  const EvalWords words = sort_eval_words(arguments.words, !arguments.data.name.empty(), requested);
  if (!words.recipe.empty() && !words.recipe.front().starts_with("evaluate.groups.")) {
    throw usage_error("eval: '{}' belongs to a run's recipe, and a feature table has none; leave it out", words.recipe.front());
  }
  Config recipe = Config::map({{"evaluate", Config::map()}});
  for (const auto& word : words.recipe) recipe.assign(word);
  Config options = *recipe.find("evaluate");
  for (const auto& protocol : requested) {
    const std::string name = find_entry(protocol_registry(), protocol.name, "protocol").name;
    if (!protocol.options.entries().empty()) options.overlay(Config::map({{name, protocol.options}}));
  }
  ChosenProtocols chosen;
  for (const auto& [name, section] : options.entries()) {
    chosen.written.push_back(read_protocol(find_entry(protocol_registry(), name, "protocol"), section));
  }
  return chosen;
}

int eval_table(const EvalArguments& arguments, std::vector<RequestedProtocol>& requested) {
  if (!arguments.data.name.empty() || !arguments.data.root.empty() || !arguments.labels.empty() || arguments.predictions) {
    throw usage_error("eval: --data, --root, --labels and --predictions need a run; a feature table has its own rows and columns");
  }
  if (!arguments.run.empty() && !arguments.table.groups.empty())
    throw usage_error("eval: --group: '{}' is a folder of debias fix, whose groups are those of its table; leave it out", arguments.run);
  const ChosenProtocols options = table_options(arguments, requested);
  std::vector<std::string> names;
  for (const auto& protocol : requested) names.push_back(find_entry(protocol_registry(), protocol.name, "protocol").name);
  const auto progress = terminal_progress();
  const auto log = terminal_log();
  const EvaluatedTable found = arguments.run.empty()
                                   ? evaluate_table(arguments.table.files(), arguments.table.columns(), names, options, *progress, *log)
                                   : evaluate_fixed_folder(arguments.run, names, options, data_change_of(arguments), *progress, *log);
  NamedMetrics metrics;
  nlohmann::ordered_json out = {{"embeddings", found.embeddings}, {"csv", found.csv}};
  add_groups(found.groups, out);
  for (const auto& note : found.notes) out["notes"].push_back(note);
  std::string lines = found.embeddings + groups_text(found.groups) + "\n";
  for (const auto& [name, result] : found.results) {
    out["protocols"][name] = to_json(result.record);
    append_metrics(result, metrics);
    lines += eval_lines(name, result);
    for (const auto& note : result.notes) log->warn(note);
    for (const auto& note : result.notes) out["notes"].push_back(note);
  }
  arguments.json ? print_json(out) : print_lines(lines);
  if (arguments.fail_if) check_condition(*arguments.fail_if, metrics);
  return 0;
}

int run_eval(const EvalArguments& arguments) {
  std::vector<RequestedProtocol> requested = requested_protocols(arguments.protocols);
  if (arguments.table.given() || is_fixed_folder(arguments.run)) return eval_table(arguments, requested);
  const EvalWords words = sort_eval_words(arguments.words, !arguments.data.name.empty(), requested);
  EvaluationRequest request{.run = arguments.run, .which = arguments.which, .device = arguments.device};
  request.protocols = requested;
  request.data = {arguments.data.name, arguments.data.root, words.data};
  request.overrides = words.recipe;
  request.labels = label_columns(arguments.labels, words.labels);
  request.groups = fmt::format("{}", fmt::join(arguments.table.groups, ","));
  request.data_change = data_change_of(arguments);
  if (arguments.predictions) request.predictions = arguments.raw ? CsvCells::kRaw : CsvCells::kGuarded;
  const RunEvaluation found = evaluate_run(request, *terminal_progress(), *terminal_log());
  nlohmann::ordered_json out = {{"run", arguments.run}, {"checkpoint", found.checkpoint}, {"epoch", found.epoch}};
  add_groups(found.groups, out);
  for (const auto& note : found.notes) out["notes"].push_back(note);
  std::string lines = fmt::format("{} (epoch {}){}\n", found.checkpoint, found.epoch, groups_text(found.groups));
  for (const auto& [name, result] : found.results) {
    out["protocols"][name] = to_json(result.record);
    for (const auto& note : result.notes) out["notes"].push_back(note);
    lines += eval_lines(name, result);
  }
  arguments.json ? print_json(out) : print_lines(lines);
  if (arguments.fail_if) check_condition(*arguments.fail_if, found.metrics());
  return 0;
}

std::string protocol_names() {
  std::string names;
  for (const auto& entry : protocol_registry()) names += (names.empty() ? "one or several, separated by commas: " : ", ") + entry.name;
  return names;
}

void add_checkpoint_name(CLI::App& verb, std::string& which) {
  verb.add_option("--checkpoint", which, "last, best or previous")->check(CLI::IsMember({"last", "best", "previous"}))->option_text("NAME");
}

// Options that both have may also precede the word `sentences`; the command's others, and its overrides, are rejected there.
void exclude_others(CLI::App& sentences, CLI::App& verb) {
  const std::set<std::string> shared = {"--help", "--root", "--checkpoint", "--fail-if", "--json", "--quiet"};
  for (CLI::Option* option : verb.get_options()) {
    if (!shared.contains(option->get_name())) sentences.excludes(option);
  }
}

// The protocol of sentences with data sets of its own, and further runs beside the first. Add it after the command's own options.
const CLI::App* add_sentences(CLI::App& verb, const std::shared_ptr<EvalArguments>& above, VerbAction& action) {
  auto* part = verb.add_subcommand("sentences", "evaluates a sentence encoder on six tasks (debias eval sentences --help)");
  auto arguments = std::make_shared<SentenceEvalArguments>();
  part->add_option("run", arguments->run, "a run folder of method quick_thoughts, or a checkpoint")->required();
  part->add_option("--root", above->data.root, "folder with the sentence sets, or with folders of them");
  part->add_option("--tasks", arguments->tasks, "tasks to evaluate, such as mr,trec; default: mr,cr,subj,mpqa,trec,msrp");
  part->add_option("--with", arguments->with, "further runs, whose vectors are appended to the first's");
  part->add_option("--expand", arguments->expand, "file of word vectors for words that are not in the run's vocabulary");
  part->add_flag("--cheap", arguments->cheap, "choose C on a tenth of the training set, not by tenfold cross-validation");
  part->add_flag("--untrained", arguments->untrained, "evaluate the encoder as it was before training");
  add_checkpoint_name(*part, above->which);
  add_fail_if(*part, above->fail_if, "condition for exit code 1, such as 'mr_acc<0.7'");
  part->add_flag("--json", above->json, "one JSON object on standard output");
  part->footer("Example: debias eval sentences runs/novels --root data/sentence-sets --cheap");
  exclude_others(*part, verb);
  part->callback([arguments, above, &action] {
    arguments->root = above->data.root;
    arguments->which = above->which;
    arguments->fail_if = above->fail_if;
    arguments->json = above->json;
    action = [arguments] { return eval_sentences(*arguments); };
  });
  return part;
}

// With --embeddings there is no run: the argument in its place is the first override.
void take_words_of_table(EvalArguments& arguments) {
  if (!arguments.table.given() || arguments.run.empty()) return;
  if (arguments.run.find('=') == std::string::npos) {
    throw usage_error("eval: pass exactly one of RUN ('{}') or --embeddings", arguments.run);
  }
  arguments.words.insert(arguments.words.begin(), std::move(arguments.run));
  arguments.run.clear();
}

// CLI11 gives a word to a required argument before it looks for a subcommand, so the command declares none as required.
void require(const CLI::Option& option) {
  if (option.count() == 0) throw CLI::RequiredError(option.get_name());
}

}  // namespace

void add_eval_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("eval", "evaluates a frozen encoder");
  auto arguments = std::make_shared<EvalArguments>();
  const auto* protocols = verb->add_option("protocols", arguments->protocols, protocol_names())->option_text("TEXT REQUIRED");
  const auto* run = verb->add_option("run", arguments->run, "a run folder, a folder of debias fix, or a checkpoint")->option_text("TEXT");
  auto* embeddings = verb->add_option("--embeddings", arguments->table.vectors,
                                      "vectors [n, D] in place of a run, with --csv ROWS.csv (see debias fix --help)");
  for (CLI::Option* option : add_table_columns(*verb, *embeddings, arguments->table)) option->group(kSeldomUsed);
  verb->add_option("overrides", arguments->words,
                   "PROTOCOL.key=value; data.test.root=DIR, views.eval=...; with --data, keys of the data set");
  verb->add_option("--data", arguments->data.name, "data set to evaluate on (train split as gallery, test split as queries)");
  verb->add_option("--root", arguments->data.root, "folder of --data; without --data, where the run's data are now")->group(kSeldomUsed);
  verb->add_option("--labels", arguments->labels, "CSV of bias labels with the header path,bias (labels.bias=COLUMN names another column)")
      ->option_text("FILE.csv");
  add_group_columns(*verb, "intervals are over groups, and neighbours of another group", arguments->table.groups);
  add_checkpoint_name(*verb, arguments->which);
  verb->add_option("--device", arguments->device, "auto, cpu or cuda")->group(kSeldomUsed);
  add_fail_if(*verb, arguments->fail_if, "condition for exit code 1, such as 'test.knn_acc1<0.7'");
  verb->add_flag("--accept-data-change", arguments->accept_data_change, "evaluate on data that have changed since training")
      ->group(kSeldomUsed);
  verb->add_flag("--predictions", arguments->predictions,
                 "write evaluation/PROTOCOL.csv: the class predicted for each image (--raw: names unescaped)")
      ->group(kSeldomUsed);
  verb->add_flag("--raw", arguments->raw, "write names to PROTOCOL.csv unescaped, even those that a spreadsheet would execute (=1+1)")
      ->group(kSeldomUsed);
  verb->add_flag("--json", arguments->json, "one JSON object on standard output");
  verb->footer("Example: debias eval knn,linear runs/first linear.views=eval knn.k=50");
  const CLI::App* sentences = add_sentences(*verb, arguments, action);
  verb->callback([arguments, protocols, run, sentences, &action] {  // runs after the subcommand's
    if (sentences->parsed()) return;
    require(*protocols);
    if (!arguments->table.given()) require(*run);
    take_words_of_table(*arguments);
    action = [arguments] { return run_eval(*arguments); };
  });
}

}  // namespace debias
