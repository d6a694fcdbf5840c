#include "apps/debias/sentence_verbs.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "apps/debias/evaluation_files.h"
#include "apps/debias/output_path.h"
#include "apps/debias/results.h"
#include "apps/debias/sentence_run.h"
#include "apps/debias/terminal.h"
#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/core/npy.h"
#include "debias/core/printable.h"
#include "debias/evaluate/condition.h"
#include "debias/evaluate/sentence_tasks.h"
#include "debias/text/text_lines.h"

namespace debias {
namespace {

std::vector<std::string> asked_tasks(const std::string& list) {
  if (list.empty()) return sentence_set_names();
  std::vector<std::string> tasks;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string task = list.substr(begin, end - begin);
    const auto& known = sentence_set_names();
    if (std::find(known.begin(), known.end(), task) == known.end()) {
      throw usage_error("eval: unknown task '{}'{}", task, suggestion(task, known));
    }
    if (std::find(tasks.begin(), tasks.end(), task) != tasks.end()) throw usage_error("eval: task '{}' is asked for twice", task);
    tasks.push_back(task);
    begin = end + 1;
  }
  return tasks;
}

std::vector<SentenceSet> read_sets(const SentenceEvalArguments& arguments, Log& log) {
  std::vector<SentenceSet> sets;
  for (const auto& task : asked_tasks(arguments.tasks)) {
    auto set = read_sentence_set(task, arguments.root);
    if (set)
      sets.push_back(std::move(*set));
    else
      log.warn(fmt::format("eval: no files of '{}' in '{}': it is left out", task, arguments.root));
  }
  if (sets.empty()) throw data_error("eval: no sentence set in '{}'; docs/text.md says which files are looked for", arguments.root);
  return sets;
}

std::string list_of(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += fmt::format("{}{:g}", text.empty() ? "" : " ", value);
  return text;
}

std::string table_of(const std::vector<TaskResult>& results) {
  std::string table;
  for (const TaskResult& result : results) {
    for (const TaskScore& score : result.scores) {
      table +=
          fmt::format("  {:<10} {:6.2f}  [{:.2f}, {:.2f}]  {} judged, commonest class {:.2f}, C {}\n", score.metric, 100 * score.value,
                      100 * score.interval.first, 100 * score.interval.second, result.judged, 100 * result.majority, list_of(result.C));
    }
    if (result.unfinished > 0) table += fmt::format("  {}: {} fits did not converge\n", result.task, result.unfinished);
  }
  return table;
}

EvaluationRecord record_of(const std::vector<TaskResult>& results, const SentenceEvalArguments& arguments, int64_t dimensions) {
  EvaluationRecord record;
  record.protocol = "sentences";
  record.options = {{"mode", arguments.cheap ? "cheap" : "full"}, {"dimensions", dimensions}, {"untrained", arguments.untrained}};
  if (!arguments.with.empty()) record.options["with"] = arguments.with;
  if (!arguments.expand.empty()) record.options["expand"] = arguments.expand;
  for (const TaskResult& result : results) {
    for (const TaskScore& score : result.scores) {
      record.metrics.emplace_back(score.metric, score.value);
      record.intervals[score.metric] = score.interval;
    }
    record.counts.emplace_back(result.task, result.judged);
    record.options["C"][result.task] = result.C;
    record.options["majority"][result.task] = result.majority;
  }
  return record;
}

std::vector<std::string> texts_of(const std::vector<SentenceSet>& sets) {
  std::vector<std::string> all;
  const auto take = [&](const LabelledText& part) {
    all.insert(all.end(), part.texts.begin(), part.texts.end());
    all.insert(all.end(), part.seconds.begin(), part.seconds.end());
  };
  for (const SentenceSet& set : sets) {
    take(set.train);
    if (set.test) take(*set.test);
  }
  return all;
}

NamedMetrics metrics_of_record(const EvaluationRecord& record) { return {record.metrics.begin(), record.metrics.end()}; }

std::vector<std::string> lines_with_words(const std::string& path, const SentenceRun& run) {
  std::vector<std::string> texts;
  TextLines lines(path);
  for (std::string_view line; lines.next(line);) {
    texts.emplace_back(line);
    if (run.ids(texts.back()).empty()) lines.refuse("no word; give a sentence on every line");
  }
  return texts;
}

int64_t unknown_lines(const std::vector<std::string>& texts, const SentenceRun& run) {
  return std::count_if(texts.begin(), texts.end(), [&](const std::string& text) {
    const std::vector<int32_t> ids = run.ids(text);
    return std::all_of(ids.begin(), ids.end(), [](int32_t id) { return id == 0; });
  });
}

}  // namespace

int eval_sentences(const SentenceEvalArguments& arguments) {
  if (arguments.root.empty()) throw usage_error("eval sentences: no root is given; add --root DIR, a folder with the sentence sets");
  std::optional<Condition> condition;
  if (!arguments.fail_if.empty()) condition = parse_condition(arguments.fail_if);
  asked_tasks(arguments.tasks);
  std::vector<SentenceRun> runs;
  runs.push_back(open_sentence_run(arguments.run, arguments.which, arguments.untrained));
  for (const auto& path : arguments.with) runs.push_back(open_sentence_run(path, arguments.which, arguments.untrained));
  const auto log = terminal_log();
  const auto progress = terminal_progress();
  const LoadedRun& first = runs.front().run;
  int64_t dimensions = 0;
  for (const auto& run : runs) dimensions += run.run.encoder->feature_dim();
  const EmbedTexts embed = [&](const std::vector<std::string>& texts) { return embed_with_all(runs, texts, *progress); };
  const std::vector<SentenceSet> sets = read_sets(arguments, *log);
  if (!arguments.expand.empty()) {
    const std::vector<std::string> texts = texts_of(sets);
    for (auto& run : runs) run.expand(fmt::format("eval sentences: {}", run.run.checkpoint), arguments.expand, texts, *log);
  }
  std::vector<TaskResult> results;
  for (const SentenceSet& set : sets) {
    results.push_back(judge_task(set, embed, arguments.cheap ? TaskMode::kCheap : TaskMode::kFull, first.seed, *progress));
  }
  const EvaluationRecord record =
      with_judged(record_of(results, arguments, dimensions), first.checkpoint, arguments.untrained ? 0 : first.epoch, {});
  if (!first.folder.empty()) {
    EvaluationResult result;
    result.record = record;
    std::string suffix = arguments.untrained ? "untrained" : "";
    if (!arguments.expand.empty()) suffix += suffix.empty() ? "expanded" : "-expanded";
    EvaluationFiles(first.folder, suffix).write("sentences", result, record, Thumbnails::kKeep);
  }
  if (arguments.json) {
    nlohmann::ordered_json out = {{"run", arguments.run}, {"checkpoint", first.checkpoint}, {"epoch", record.epoch}};
    out["protocols"]["sentences"] = to_json(record);
    print_json(out);
  } else {
    print_lines(fmt::format("{} ({}), {} dimensions{}{}\n{}", first.checkpoint,
                            arguments.untrained ? "untrained" : fmt::format("epoch {}", first.epoch), dimensions,
                            arguments.cheap ? ", cheap" : "", arguments.expand.empty() ? "" : ", expanded", table_of(results)));
  }
  if (condition) {
    for (const auto& [name, value] : metrics_of(*condition, metrics_of_record(record))) {
      if (!condition->holds(value)) continue;
      throw Error(ErrorKind::kFailure, fmt::format("eval: {} is {:.6g}, so --fail-if '{}' holds", name, value, condition->text));
    }
  }
  return 0;
}

int embed_text(const TextEmbedArguments& arguments) {
  const std::string out = arguments.out.ends_with(".npy") ? arguments.out : arguments.out + ".npy";
  SentenceRun run = open_sentence_run(arguments.run, arguments.which);
  std::vector<std::string> inputs = run_files(run.run);
  inputs.push_back(arguments.text);
  inputs.push_back(arguments.expand);
  refuse_overwriting("embed", {out}, inputs);
  const std::vector<std::string> texts = lines_with_words(arguments.text, run);
  const auto log = terminal_log();
  if (!arguments.expand.empty()) run.expand("embed", arguments.expand, texts, *log);
  const auto progress = terminal_progress();
  const at::Tensor vectors = run.embed(texts, *progress).contiguous();
  write_npy(out, DType::kFloat32, {vectors.size(0), vectors.size(1)}, vectors.const_data_ptr());
  const int64_t unknown = unknown_lines(texts, run);
  if (unknown > 0) {
    log->warn(fmt::format("embed: {} of {} lines have not one word that the run knows; their vectors say nothing", unknown, texts.size()));
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
