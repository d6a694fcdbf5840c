#include "apps/debias/sentence_verbs.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "apps/debias/results.h"
#include "debias/core/error.h"
#include "debias/core/npy.h"
#include "debias/core/paths.h"
#include "debias/core/printable.h"
#include "debias/evaluate/protocol_registry.h"
#include "debias/process/terminal.h"
#include "debias/runs/protocol_evaluation.h"
#include "debias/runs/sentence_evaluation.h"
#include "debias/text/characters.h"
#include "debias/text/sentence_sets.h"

namespace debias {
namespace {

Config task_options(const SentenceEvalArguments& arguments) {
  Config options = Config::map({{"root", Config::string(arguments.root)}});
  if (arguments.cheap) options.set("mode", Config::string("cheap"));
  if (arguments.tasks.empty()) return options;
  std::vector<Config> tasks;
  for (size_t begin = 0; begin <= arguments.tasks.size();) {
    const size_t end = std::min(arguments.tasks.find(',', begin), arguments.tasks.size());
    tasks.push_back(Config::string(arguments.tasks.substr(begin, end - begin)));
    begin = end + 1;
  }
  options.set("tasks", Config::sequence(std::move(tasks)));
  return options;
}

EvaluationInput task_input(std::vector<SentenceRun>& runs, const SentenceEvalArguments& arguments, Progress& progress, Log& log) {
  EvaluationInput input;
  input.encoder = runs.front().reader->encoder;
  input.seed = runs.front().run.seed;
  std::vector<std::shared_ptr<const SentenceReader>> readers;
  for (const auto& run : runs) readers.push_back(run.reader);
  SentenceInput sentences = sentence_input(readers, progress);
  sentences.described = {{"untrained", arguments.untrained}};
  if (!arguments.with.empty()) sentences.described["with"] = arguments.with;
  for (size_t i = 1; i < runs.size(); ++i) sentences.described["with_epochs"].push_back(arguments.untrained ? 0 : runs[i].run.epoch);
  if (!arguments.expand.empty()) {
    sentences.described["expand"] = arguments.expand;
    sentences.prepare = [&runs, &arguments, &log](const std::vector<std::string>& texts) {
      for (auto& run : runs) run.reader->expand("eval sentences: " + run.run.checkpoint, arguments.expand, texts, log);
    };
  }
  input.sentences = std::move(sentences);
  return input;
}

std::string list_of(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += fmt::format("{}{:g}", text.empty() ? "" : " ", value);
  return text;
}

std::string table_of(const EvaluationRecord& record) {
  std::string table;
  for (const auto& [metric, value] : record.metrics) {
    const auto task = std::ranges::find_if(record.tasks, [&name = metric](const EvaluatedTask& one) { return one.has(name); });
    const auto& [low, high] = record.intervals.at(metric);
    table += fmt::format("  {:<10} {:6.2f}  [{:.2f}, {:.2f}]  {} evaluated, most frequent class {:.2f}, C {}\n", metric, 100 * value,
                         100 * low, 100 * high, task->evaluated, 100 * task->majority, list_of(task->C));
  }
  return table;
}

// Another evaluation never replaces this one: sentences-untrained-cheap.json.
std::string kind_of(const SentenceEvalArguments& arguments, const std::string& checkpoint) {
  std::vector<std::string> words;
  if (arguments.untrained) words.emplace_back("untrained");
  if (!arguments.expand.empty()) words.emplace_back("expanded");
  if (!arguments.with.empty()) words.emplace_back("with");
  if (arguments.cheap) words.emplace_back("cheap");
  const std::string which = std::filesystem::path(checkpoint).stem().string();
  if (!arguments.untrained && which != "last") words.push_back(which);
  std::string kind;
  for (const auto& word : words) kind += (kind.empty() ? "" : "-") + word;
  return kind;
}

void copy_task(const EvaluationRecord& from, const EvaluatedTask& task, EvaluationRecord& to) {
  for (const auto& metric : from.metrics) {
    if (task.has(metric.first)) to.metrics.push_back(metric);
  }
  for (const auto& [metric, interval] : from.intervals) {
    if (task.has(metric)) to.intervals[metric] = interval;
  }
  to.tasks.push_back(task);
}

bool name_other_texts(const EvaluatedTask& a, const EvaluatedTask& b) {
  return !a.digest.empty() && !b.digest.empty() && a.digest != b.digest;
}

// Earlier tasks stay in the file if they were evaluated in the same way, with the same weights.
EvaluationRecord beside_other_tasks(const std::string& path, const EvaluationRecord& record, Log& log) {
  if (!std::filesystem::exists(path)) return record;
  try {
    const EvaluationRecord before = read_evaluation(path);
    const bool alike = before.checkpoint == record.checkpoint && before.epoch == record.epoch && before.options == record.options;
    if (!alike) {
      log.warn(fmt::format("eval: '{}' is of epoch {} or of other options; it is replaced, with all its tasks", path, before.epoch));
      return record;
    }
    EvaluationRecord all = record;
    all.metrics.clear();
    all.tasks.clear();
    for (const auto& name : sentence_set_names()) {
      const EvaluatedTask *is = record.task(name), *was = before.task(name);
      if (is != nullptr || was != nullptr) copy_task(is != nullptr ? record : before, is != nullptr ? *is : *was, all);
      if (is == nullptr || was == nullptr || !name_other_texts(*was, *is)) continue;
      log.warn(fmt::format("eval: '{}' has '{}' evaluated on other texts; it is replaced", path, name));
    }
    return all;
  } catch (const Error& error) {
    log.warn(fmt::format("eval: {}: it is overwritten", error.what()));
    return record;
  }
}

std::vector<std::string> lines_with_words(const std::string& path, Encoding encoding, const SentenceRun& run) {
  std::vector<std::string> texts;
  TextLines lines(path, encoding);
  for (std::string_view line; lines.next(line);) {
    texts.emplace_back(line);
    if (run.reader->ids(texts.back()).empty()) lines.refuse("no word; give a sentence on every line");
  }
  return texts;
}

}  // namespace

int eval_sentences(const SentenceEvalArguments& arguments) {
  if (arguments.root.empty()) throw usage_error("eval sentences: no root is given; add --root DIR, a folder with the sentence sets");
  const ChosenProtocol chosen = read_protocol(protocol_for(SampleKind::kSentences, "sentences"), task_options(arguments));
  std::vector<SentenceRun> runs;
  runs.push_back(open_sentence_run(arguments.run, arguments.which, arguments.untrained));
  for (const auto& path : arguments.with) runs.push_back(open_sentence_run(path, arguments.which, arguments.untrained));
  const auto log = terminal_log();
  const auto progress = terminal_progress();
  const LoadedRun& first = runs.front().run;
  const EvaluationInput input = task_input(runs, arguments, *progress, *log);
  EvaluationResult result = EvaluationCache(input, *progress).evaluate(chosen);
  for (const auto& note : result.notes) log->warn("eval: " + note);
  const EvaluationRecord record = with_evaluated(result.record, first.checkpoint, arguments.untrained ? 0 : first.epoch, {});
  if (arguments.json) {
    nlohmann::ordered_json out = {{"run", arguments.run}, {"checkpoint", first.checkpoint}, {"epoch", record.epoch}};
    out["protocols"][chosen.name] = to_json(record);
    print_json(out);
  } else {
    print_lines(fmt::format("{} ({}), {} dimensions{}{}\n{}", first.checkpoint,
                            arguments.untrained ? "untrained" : fmt::format("epoch {}", first.epoch), input.sentences->dimensions,
                            arguments.cheap ? ", cheap" : "", arguments.expand.empty() ? "" : ", expanded", table_of(record)));
  }
  if (!first.folder.empty()) {
    const EvaluationFiles files(first.folder, kind_of(arguments, first.checkpoint));
    result.record = beside_other_tasks(files.path(chosen.name) + ".json", record, *log);
    files.write(chosen.name, result, result.record, Thumbnails::kKeep);
  }
  if (arguments.fail_if) check_condition(*arguments.fail_if, record.metrics);
  return 0;
}

int embed_text(const TextEmbedArguments& arguments) {
  if (arguments.out.ends_with(".csv")) {
    throw usage_error("embed: --out '{}': vectors of a text are written as .npy, a row for each line; give a name that ends in .npy",
                      arguments.out);
  }
  const std::string out = arguments.out.ends_with(".npy") ? arguments.out : arguments.out + ".npy";
  SentenceRun run = open_sentence_run(arguments.run, arguments.which);
  std::vector<std::string> inputs = run_files(run.run);
  inputs.push_back(arguments.text);
  inputs.push_back(arguments.expand);
  refuse_overwriting("embed", {out}, inputs);
  const std::vector<std::string> texts = lines_with_words(arguments.text, encoding_named(arguments.encoding), run);
  const auto log = terminal_log();
  if (!arguments.expand.empty()) run.reader->expand("embed", arguments.expand, texts, *log);
  const auto progress = terminal_progress();
  const at::Tensor vectors = run.reader->embed(texts, *progress).contiguous();
  write_npy(out, DType::kFloat32, {vectors.size(0), vectors.size(1)}, vectors.const_data_ptr());
  const auto unknown = std::ranges::count_if(texts, [&](const std::string& text) { return !run.reader->knows(text); });
  if (unknown > 0) {
    log->warn(
        fmt::format("embed: {} of {} lines have no word that the run knows; their vectors carry no information", unknown, texts.size()));
  }
  if (arguments.json) {
    print_json(
        {{"count", vectors.size(0)}, {"dimensions", vectors.size(1)}, {"files", std::vector<std::string>{out}}, {"unknown", unknown}}, -1);
  } else {
    fmt::print("{}\n{} sentences, {} dimensions, each encoder's part of unit norm\n", without_control_characters(out), vectors.size(0),
               vectors.size(1));
  }
  return 0;
}

}  // namespace debias
