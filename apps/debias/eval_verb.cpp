#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "apps/debias/evaluation_files.h"
#include "apps/debias/fail_condition.h"
#include "apps/debias/judged_run.h"
#include "apps/debias/metric_text.h"
#include "apps/debias/output_path.h"
#include "apps/debias/results.h"
#include "apps/debias/sentence_verbs.h"
#include "apps/debias/terminal.h"
#include "apps/debias/verbs.h"
#include "debias/core/data_folder.h"
#include "debias/core/error.h"
#include "debias/core/flattened.h"
#include "debias/core/registry.h"
#include "debias/evaluate/prediction_file.h"
#include "debias/evaluate/protocol_registry.h"
#include "debias/runtime/device.h"

namespace debias {
namespace {

struct EvalArguments {
  std::string protocols, run;
  std::vector<std::string> words;
  DataWords data;
  std::string which = "last", device = "auto", fail_if;
  bool predictions = false, accept_data_change = false, raw = false, json = false;

  DataChange data_change() const { return accept_data_change ? DataChange::kAccept : DataChange::kRefuse; }
};

struct AskedProtocol {
  const ProtocolEntry* entry;
  std::string word;  // as typed: its name or an alias
  Config options;

  bool is_called(const std::string& name) const { return name == entry->name || name == word; }
  bool has_option(const std::string& key) const {
    return std::any_of(entry->options.begin(), entry->options.end(), [&](const OptionSpec& spec) { return spec.name == key; });
  }
};

std::vector<AskedProtocol> asked_protocols(const std::string& list) {
  std::vector<AskedProtocol> asked;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string word = list.substr(begin, end - begin);
    if (word == "sentences") throw usage_error("eval: 'sentences' is judged by itself; write debias eval sentences RUN --root DIR");
    const auto* entry = &find_entry(protocol_registry(), word, "protocol", "eval: ");
    for (const auto& other : asked) {
      if (other.entry == entry) throw usage_error("eval: protocol '{}' is asked for twice; give it once", entry->name);
    }
    asked.push_back({entry, word, Config::map()});
    begin = end + 1;
  }
  return asked;
}

// `knn.k=20` is knn's; `data.test.root=DIR`, `views.eval=...` and `evaluate.unknown_classes=...` change the recipe; a bare `k=20` is the
// only protocol's, or with --data, if that has no such option, the data set's.
struct SortedWords {
  std::vector<std::string> recipe, data;
  std::vector<std::string> judging;  // all but those of the data, as words of a recipe
};

std::string recipe_word(const AskedProtocol& protocol, const std::string& word) {
  return fmt::format("evaluate.{}.{}", protocol.entry->name, word);
}

SortedWords sort_words(const EvalArguments& arguments, std::vector<AskedProtocol>& asked) {
  SortedWords sorted;
  const bool named = !arguments.data.name.empty();
  for (const auto& word : arguments.words) {
    const std::string key = word.substr(0, word.find('='));
    const size_t dot = key.find('.');
    const std::string head = key.substr(0, dot);
    const auto owner = std::find_if(asked.begin(), asked.end(), [&](const auto& protocol) { return protocol.is_called(head); });
    if (dot != std::string::npos && owner != asked.end()) {
      owner->options.assign(word.substr(dot + 1));
      sorted.judging.push_back(recipe_word(*owner, word.substr(dot + 1)));
    } else if (dot != std::string::npos && head == "groups") {
      sorted.recipe.push_back("evaluate." + word);  // which bias values are aligned is decided once, for every protocol
      sorted.judging.push_back("evaluate." + word);
    } else if (dot != std::string::npos && (head == "data" || head == "views" || head == "evaluate")) {
      if (head == "data" && named) throw usage_error("eval: '{}' and --data exclude each other; give one", word);
      sorted.recipe.push_back(word);
      if (head != "data") sorted.judging.push_back(word);
    } else if (dot == std::string::npos && asked.size() == 1 && (asked[0].has_option(key) || !named)) {
      asked[0].options.assign(word);
      sorted.judging.push_back(recipe_word(asked[0], word));
    } else if (named) {
      sorted.data.push_back(word);
    } else {
      throw usage_error("eval: '{}' belongs to none of the protocols asked for; write e.g. {}.{}=...", word, asked[0].word,
                        asked[0].entry->options.front().name);
    }
  }
  for (const auto& protocol : asked) protocol.entry->check(protocol.options);
  return sorted;
}

using RecipeChanges = decltype(EvaluationRecord::recipe_changes);

// What the words make of the recipe that is otherwise than it was.
RecipeChanges recipe_changes(const Config& recipe, const std::vector<std::string>& words) {
  Config judged = recipe;
  for (const auto& word : words) judged.assign(word);
  RecipeChanges changes;
  for (const auto& [key, value] : flattened(judged)) changes[key] = value;
  for (const auto& [key, value] : flattened(recipe)) {
    const auto found = changes.find(key);
    if (found == changes.end()) {
      changes[key] = std::nullopt;
    } else if (found->second == value) {
      changes.erase(found);
    }
  }
  return changes;
}

// Of the options of protocols only its own and those of the one whose predictions it has judged.
RecipeChanges changes_of(const AskedProtocol& asked, const EvaluationRecord& record, RecipeChanges changes) {
  constexpr std::string_view kEvaluate = "evaluate.";
  std::erase_if(changes, [&](const auto& change) {
    const size_t dot = change.first.find('.', kEvaluate.size());
    if (!change.first.starts_with(kEvaluate) || dot == std::string::npos) return false;
    const std::string protocol = change.first.substr(kEvaluate.size(), dot - kEvaluate.size());
    return !asked.is_called(protocol) && !record.judges_predictions_of(protocol);
  });
  return changes;
}

// The recipe's options with those asked for laid over them, by the protocols' registered names; `asked` then has them all.
Config take_recipe_options(const Recipe& recipe, std::vector<AskedProtocol>& asked) {
  Config options = protocol_options(recipe);
  for (auto& protocol : asked) {
    const Config* written = options.find(protocol.entry->name);
    Config all = written == nullptr ? Config::map() : *written;
    all.overlay(protocol.options);
    protocol.entry->check(all);
    protocol.options = all;
    options.set(protocol.entry->name, std::move(all));
  }
  return options;
}

// Fractions in percent, with their intervals; other numbers as they are.
std::string table_lines(const std::string& protocol, const EvaluationResult& result) {
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

// Evaluations lie in the run folder, and so may labels.
void refuse_overwriting_data(const EvaluationFiles& files, const std::vector<AskedProtocol>& asked, const JudgedData& data) {
  for (const auto& protocol : asked) {
    const std::string path = files.path(protocol.entry->name);
    for (const Config* section : {&data.train, &data.valid, &data.test}) {
      refuse_overwriting("eval", {path + ".json", path + ".csv"}, files_named_in(*section));
    }
  }
}

int run_eval(const EvalArguments& arguments) {
  std::vector<AskedProtocol> asked = asked_protocols(arguments.protocols);
  std::optional<Condition> condition;
  if (!arguments.fail_if.empty()) condition = parse_condition(arguments.fail_if);
  const SortedWords words = sort_words(arguments, asked);
  const c10::Device device = resolve_device(arguments.device);
  LoadedRun run = load_run(arguments.run, arguments.which);
  require_image_run(run);
  const RecipeChanges changes = recipe_changes(run.recipe, words.judging);
  for (const auto& word : words.recipe) run.recipe.assign(word);
  DataWords named = arguments.data;
  named.words = words.data;
  const JudgedData data = judged_data(run, named);
  if (arguments.predictions && run.folder.empty()) {
    throw usage_error("eval: --predictions writes into a run folder, and '{}' lies in none", run.checkpoint);
  }
  const EvaluationFiles files(run.folder, named.name);
  if (!run.folder.empty()) {
    refuse_run_inside_data(run.folder, roots_of(data));
    refuse_overwriting_data(files, asked, data);
  }
  const auto progress = terminal_progress();
  const auto log = terminal_log();
  const Recipe recipe = read_recipe(run.recipe);
  DataWatch watch(recipe.verify, *progress, *log);
  const EvaluationInput input = open_for_evaluation(run, data, watch, *log);
  std::vector<std::string> accepted;
  if (named.name.empty()) accepted = require_unchanged(run, watch, words.recipe, arguments.data_change(), *log);
  run.encoder->to(device);
  EvaluationCache cache(input, *progress, take_recipe_options(recipe, asked));
  NamedMetrics metrics;
  nlohmann::ordered_json out = {{"run", arguments.run}, {"checkpoint", run.checkpoint}, {"epoch", run.epoch}};
  std::string table = fmt::format("{} (epoch {})\n", run.checkpoint, run.epoch);
  for (const auto& protocol : asked) {
    const std::string& name = protocol.entry->name;
    const EvaluationResult& result = cache.judge(name, protocol.options);
    EvaluationRecord record = with_judged(result.record, run.checkpoint, run.epoch, data);
    record.accepted_changes = accepted;
    record.recipe_changes = changes_of(protocol, record, changes);
    out["protocols"][name] = to_json(record);
    append_metrics(name, result, metrics);
    table += table_lines(name, result);
    for (const auto& note : result.notes) log->warn(note);
    if (run.folder.empty()) continue;
    files.write(name, result, record, Thumbnails::kReplace);
    if (arguments.predictions &&
        !write_predictions(files.path(name) + ".csv", result, input, arguments.raw ? CsvCells::kRaw : CsvCells::kGuarded)) {
      log->warn(fmt::format("eval: {} makes no predictions, so there is no {}.csv", name, files.path(name)));
    }
  }
  arguments.json ? print_json(out) : print_lines(table);
  if (condition) check_condition(*condition, metrics);
  return 0;
}

std::string protocol_names() {
  std::string names;
  for (const auto& entry : protocol_registry()) names += (names.empty() ? "one or several, with commas: " : ", ") + entry.name;
  return names;
}

void add_checkpoint_name(CLI::App& verb, std::string& which) {
  verb.add_option("--checkpoint", which, "last, best or previous")->check(CLI::IsMember({"last", "best", "previous"}))->option_text("NAME");
}

// Options that both have may also stand before the word `sentences`; the verb's others, and its words, are refused there.
void exclude_others(CLI::App& sentences, CLI::App& verb) {
  const std::set<std::string> shared = {"--help", "--root", "--checkpoint", "--fail-if", "--json"};
  for (CLI::Option* option : verb.get_options()) {
    if (!shared.contains(option->get_name())) sentences.excludes(option);
  }
}

// The only judge of sentences, which reads sets of its own. To be added behind the verb's own options.
const CLI::App* add_sentences(CLI::App& verb, const std::shared_ptr<EvalArguments>& above, VerbAction& action) {
  auto* part = verb.add_subcommand("sentences", "judges a run on sentences by six tasks (debias eval sentences --help)");
  auto arguments = std::make_shared<SentenceEvalArguments>();
  part->add_option("run", arguments->run, "a run folder of method quick_thoughts, or a checkpoint")->required();
  part->add_option("--root", above->data.root, "the folder with the sentence sets, or with folders of them");
  part->add_option("--tasks", arguments->tasks, "which, such as mr,trec; without it mr,cr,subj,mpqa,trec,msrp");
  part->add_option("--with", arguments->with, "further runs, whose vectors are appended to the first's");
  part->add_option("--expand", arguments->expand, "file of word vectors, for words that the run does not know");
  part->add_flag("--cheap", arguments->cheap, "choose C on one tenth of the training part, not by ten folds");
  part->add_flag("--untrained", arguments->untrained, "judge the encoder as it was before training");
  add_checkpoint_name(*part, above->which);
  part->add_option("--fail-if", above->fail_if, "exit 1 when it holds, such as 'mr_acc<0.7'");
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

// CLI11 gives a word to a required argument before it looks for a subcommand, so none of the verb's is declared so.
void require(const CLI::Option& option) {
  if (option.count() == 0) throw CLI::RequiredError(option.get_name());
}

}  // namespace

void add_eval_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("eval", "judges a frozen encoder");
  auto arguments = std::make_shared<EvalArguments>();
  const auto* protocols = verb->add_option("protocols", arguments->protocols, protocol_names())->option_text("TEXT REQUIRED");
  const auto* run = verb->add_option("run", arguments->run, "a run folder or a checkpoint")->option_text("TEXT REQUIRED");
  verb->add_option("words", arguments->words, "PROTOCOL.key=value; data.test.root=DIR, views.eval=...; with --data, keys of the data set");
  verb->add_option("--data", arguments->data.name, "judge on this data set (train split as gallery, test split as queries)");
  verb->add_option("--root", arguments->data.root, "the folder of --data; alone, where the run's own data lie now");
  add_checkpoint_name(*verb, arguments->which);
  verb->add_option("--device", arguments->device, "auto, cpu or cuda");
  verb->add_option("--fail-if", arguments->fail_if, "exit 1 when it holds, such as 'test.knn_acc1<0.7'");
  verb->add_flag("--accept-data-change", arguments->accept_data_change, "judge on data that are not what they were in training");
  verb->add_flag("--predictions", arguments->predictions, "write evaluation/PROTOCOL.csv: the class predicted for each image");
  verb->add_flag("--raw", arguments->raw, "in PROTOCOL.csv, names as they are, also those that a spreadsheet would run (=1+1)");
  verb->add_flag("--json", arguments->json, "one JSON object on standard output");
  verb->footer("Example: debias eval knn,linear runs/first linear.views=eval knn.k=50");
  const CLI::App* sentences = add_sentences(*verb, arguments, action);
  verb->callback([arguments, protocols, run, sentences, &action] {  // runs after the subcommand's
    if (sentences->parsed()) return;
    require(*protocols);
    require(*run);
    action = [arguments] { return run_eval(*arguments); };
  });
}

}  // namespace debias
