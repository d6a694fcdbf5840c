#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "apps/debias/judged_run.h"
#include "apps/debias/terminal.h"
#include "apps/debias/verbs.h"
#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "debias/encoders/device.h"

namespace debias {
namespace {

struct EvalArguments {
  std::string protocols, run;
  std::vector<std::string> words;
  DataWords data;
  std::string which = "last", device = "auto", fail_if;
  bool json = false;
};

std::vector<std::string> split_commas(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back().push_back(c);
    }
  }
  return parts;
}

// `knn.k=20` belongs to knn; `k=20` to the only protocol; `data.test.root=...` to the recipe; with --data, other words to the data set.
struct SortedWords {
  std::map<std::string, Config> protocols;
  std::vector<std::string> recipe, data;
};

SortedWords sort_words(const EvalArguments& arguments, const std::vector<std::string>& names) {
  SortedWords sorted;
  for (const auto& word : arguments.words) {
    const size_t dot = word.find('.'), equals = word.find('=');
    const std::string head = dot < equals ? word.substr(0, dot) : "";
    const auto& registry = protocol_registry();
    const bool is_protocol = std::any_of(registry.begin(), registry.end(), [&](const ProtocolEntry& entry) {
      return entry.name == head || std::find(entry.aliases.begin(), entry.aliases.end(), head) != entry.aliases.end();
    });
    if (is_protocol) {
      sorted.protocols[find_entry(registry, head, "protocol").name].assign(word.substr(dot + 1));
    } else if (head == "data" || head == "views") {
      sorted.recipe.push_back(word);
    } else if (names.size() == 1) {
      const auto& entry = find_entry(registry, names[0], "protocol");
      const std::string key = word.substr(0, equals);
      const bool own = std::any_of(entry.options.begin(), entry.options.end(), [&](const OptionSpec& spec) { return spec.name == key; });
      if (own || arguments.data.name.empty()) {
        sorted.protocols[entry.name].assign(word);
      } else {
        sorted.data.push_back(word);
      }
    } else if (!arguments.data.name.empty()) {
      sorted.data.push_back(word);
    } else {
      throw usage_error("eval: '{}' could belong to any of several protocols; write PROTOCOL.key=value", word);
    }
  }
  return sorted;
}

struct Condition {
  std::string metric, comparison;
  double bound = 0;
  bool holds(double value) const {
    if (comparison == "<") return value < bound;
    if (comparison == "<=") return value <= bound;
    if (comparison == ">") return value > bound;
    if (comparison == ">=") return value >= bound;
    return value == bound;
  }
};

std::optional<Condition> parse_condition(std::string text) {
  if (text.empty()) return std::nullopt;
  std::erase(text, ' ');
  for (const char* comparison : {"<=", ">=", "==", "<", ">"}) {
    const size_t at = text.find(comparison);
    if (at == std::string::npos) continue;
    Condition condition{text.substr(0, at), comparison, 0};
    if (condition.metric.empty() || !parse_number(text.substr(at + condition.comparison.size()), &condition.bound)) break;
    return condition;
  }
  throw usage_error("eval: --fail-if '{}' is not METRIC<NUMBER; write for example 'test.knn_acc1<0.7'", text);
}

// The named metric, with or without its split: a bare name means the test set's.
double metric_value(const std::map<std::string, double>& metrics, const std::string& name) {
  for (const std::string& candidate : {name, "test." + name, "valid." + name}) {
    const auto found = metrics.find(candidate);
    if (found != metrics.end()) return found->second;
  }
  std::vector<std::string> known;
  for (const auto& [metric, value] : metrics) known.push_back(metric);
  throw usage_error("eval: --fail-if: no metric '{}' was computed{}", name, suggestion(name, known));
}

int run_eval(const EvalArguments& arguments) {
  const auto names = split_commas(arguments.protocols);
  for (const auto& name : names) find_entry(protocol_registry(), name, "protocol");
  const auto condition = parse_condition(arguments.fail_if);
  const SortedWords words = sort_words(arguments, names);
  const c10::Device device = resolve_device(arguments.device);
  LoadedRun run = load_run(arguments.run, arguments.which);
  for (const auto& word : words.recipe) run.recipe.assign(word);
  DataWords data = arguments.data;
  data.words = words.data;
  const EvaluationInput input = open_for_evaluation(run, data);
  run.encoder->to(device);
  const auto progress = terminal_progress();
  FeatureCache features(input, *progress);
  std::map<std::string, double> metrics;
  nlohmann::ordered_json out = {{"run", arguments.run}, {"checkpoint", run.checkpoint}, {"epoch", run.epoch}};
  for (const auto& name : names) {
    const auto& protocol = find_entry(protocol_registry(), name, "protocol");
    const auto own = words.protocols.find(protocol.name);
    EvaluationResult result = protocol.run(input, features, own == words.protocols.end() ? Config() : own->second, *progress);
    result.details["checkpoint"] = std::filesystem::path(run.checkpoint).filename().string();
    result.details["epoch"] = run.epoch;
    result.details["test"] = {{"name", input.test->info().name}, {"split", input.test->info().split}, {"count", input.test->size()}};
    if (!run.folder.empty()) {
      std::filesystem::create_directories(run.folder + "/evaluation");
      write_file_atomically(run.folder + "/evaluation/" + protocol.name + ".json", result.details.dump(2) + "\n");
    }
    out["protocols"][protocol.name] = result.details;
    metrics.insert(result.metrics.begin(), result.metrics.end());
  }
  for (const auto& [name, value] : metrics) out["metrics"][name] = value;
  if (arguments.json) {
    fmt::print("{}\n", out.dump(2));
  } else {
    fmt::print("{} (epoch {})\n", run.checkpoint, run.epoch);
    for (const auto& [name, value] : metrics) fmt::print("  {:<26} {:6.2f} %\n", name, 100 * value);
  }
  if (condition && condition->holds(metric_value(metrics, condition->metric))) {
    throw Error(ErrorKind::kFailure, fmt::format("eval: {} is {:.4f}, which is what --fail-if names: {}", condition->metric,
                                                 metric_value(metrics, condition->metric), arguments.fail_if));
  }
  return 0;
}

}  // namespace

void add_eval_verb(CLI::App& root, VerbAction& action) {
  auto* verb = root.add_subcommand("eval", "judges a frozen encoder");
  auto arguments = std::make_shared<EvalArguments>();
  verb->add_option("protocols", arguments->protocols, "one or several, with commas: knn, linear_dcl (linear), linear_supcon")->required();
  verb->add_option("run", arguments->run, "a run folder or a checkpoint")->required();
  verb->add_option("words", arguments->words, "PROTOCOL.key=value; data.test.root=...; with --data, keys of the data set");
  verb->add_option("--data", arguments->data.name, "judge on this data set (train split as gallery, test split as queries)");
  verb->add_option("--root", arguments->data.root, "the folder of --data");
  verb->add_option("--checkpoint", arguments->which, "last, best or previous")->check(CLI::IsMember({"last", "best", "previous"}));
  verb->add_option("--device", arguments->device, "auto, cpu or cuda");
  verb->add_option("--fail-if", arguments->fail_if, "exit 1 when it holds, such as 'test.knn_acc1<0.7'");
  verb->add_flag("--json", arguments->json, "one JSON object on standard output");
  verb->footer("Example: debias eval knn,linear_dcl runs/demo/infonce-1 linear_dcl.views=eval");
  verb->callback([arguments, &action] { action = [arguments] { return run_eval(*arguments); }; });
}

}  // namespace debias
