#include "apps/debias/sentence_verbs.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>
#include <span>

#include "apps/debias/evaluation_files.h"
#include "apps/debias/fail_condition.h"
#include "apps/debias/output_path.h"
#include "apps/debias/results.h"
#include "apps/debias/sentence_run.h"
#include "apps/debias/terminal.h"
#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/core/npy.h"
#include "debias/core/printable.h"
#include "debias/core/sha256.h"
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

constexpr std::array kByTask = {"C", "majority", "unknown", "texts", "digest"};  // options that have a value for each task

struct JudgedTask {
  TaskResult result;
  int64_t unknown = 0;  // texts of which no run knows a word
  int64_t texts = 0;    // to train on and to judge by, both of a pair
  std::string digest;
};

int64_t dimensions_of(const std::vector<SentenceRun>& runs) {
  int64_t dimensions = 0;
  for (const auto& run : runs) dimensions += run.run.encoder->feature_dim();
  return dimensions;
}

std::string list_of(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += fmt::format("{}{:g}", text.empty() ? "" : " ", value);
  return text;
}

std::string table_of(const std::vector<JudgedTask>& judged) {
  std::string table;
  for (const auto& [result, unknown, texts, digest] : judged) {
    for (const TaskScore& score : result.scores) {
      table +=
          fmt::format("  {:<10} {:6.2f}  [{:.2f}, {:.2f}]  {} judged, commonest class {:.2f}, C {}\n", score.metric, 100 * score.value,
                      100 * score.interval.first, 100 * score.interval.second, result.judged, 100 * result.majority, list_of(result.C));
    }
    if (result.unfinished > 0) table += fmt::format("  {}: {} fits did not converge\n", result.task, result.unfinished);
  }
  return table;
}

EvaluationRecord record_of(const std::vector<JudgedTask>& judged, const SentenceEvalArguments& arguments,
                           const std::vector<SentenceRun>& runs) {
  EvaluationRecord record;
  record.protocol = "sentences";
  record.options = {{"mode", arguments.cheap ? "cheap" : "full"}, {"dimensions", dimensions_of(runs)}, {"untrained", arguments.untrained}};
  if (!arguments.with.empty()) record.options["with"] = arguments.with;
  for (size_t i = 1; i < runs.size(); ++i) record.options["with_epochs"].push_back(arguments.untrained ? 0 : runs[i].run.epoch);
  if (!arguments.expand.empty()) record.options["expand"] = arguments.expand;
  for (const auto& [result, unknown, texts, digest] : judged) {
    for (const TaskScore& score : result.scores) {
      record.metrics.emplace_back(score.metric, score.value);
      record.intervals[score.metric] = score.interval;
    }
    record.counts.emplace_back(result.task, result.judged);
    record.options["C"][result.task] = result.C;
    record.options["majority"][result.task] = result.majority;
    record.options["unknown"][result.task] = unknown;
    record.options["texts"][result.task] = texts;
    record.options["digest"][result.task] = digest;
  }
  return record;
}

// Another judgement never replaces this one: sentences-untrained-cheap.json.
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

bool is_of_task(const std::string& metric, const std::string& task) { return metric.starts_with(task + "_"); }

bool has_task(const EvaluationRecord& record, const std::string& task) {
  return std::ranges::any_of(record.metrics, [&](const auto& metric) { return is_of_task(metric.first, task); });
}

void copy_task(const EvaluationRecord& from, const std::string& task, EvaluationRecord& to) {
  for (const auto& metric : from.metrics) {
    if (is_of_task(metric.first, task)) to.metrics.push_back(metric);
  }
  for (const auto& [metric, interval] : from.intervals) {
    if (is_of_task(metric, task)) to.intervals[metric] = interval;
  }
  for (const auto& count : from.counts) {
    if (count.first == task) to.counts.push_back(count);
  }
  for (const char* option : kByTask) {
    const auto found = from.options.find(option);
    if (found != from.options.end() && found->contains(task)) to.options[option][task] = found->at(task);
  }
}

Json options_of_all_tasks(Json options) {
  for (const char* option : kByTask) options.erase(option);
  return options;
}

bool name_other_texts(const EvaluationRecord& a, const EvaluationRecord& b, const std::string& task) {
  const std::string of_a = a.digest_of_task(task), of_b = b.digest_of_task(task);
  return !of_a.empty() && !of_b.empty() && of_a != of_b;
}

// The tasks that the file has from before stay in it where they were judged in the same way, of the same weights.
EvaluationRecord beside_other_tasks(const std::string& path, const EvaluationRecord& record, Log& log) {
  if (!std::filesystem::exists(path)) return record;
  try {
    const EvaluationRecord before = read_evaluation(path);
    const bool alike = before.checkpoint == record.checkpoint && before.epoch == record.epoch && before.options.is_object() &&
                       options_of_all_tasks(before.options) == options_of_all_tasks(record.options);
    if (!alike) {
      log.warn(fmt::format("eval: '{}' is of epoch {} or of other options; it is replaced, with all its tasks", path, before.epoch));
      return record;
    }
    EvaluationRecord all = record;
    all.metrics.clear();
    all.counts.clear();
    for (const auto& task : sentence_set_names()) {
      copy_task(has_task(record, task) ? record : before, task, all);
      if (name_other_texts(before, record, task)) {
        log.warn(fmt::format("eval: '{}' has '{}' judged on other texts; it is replaced", path, task));
      }
    }
    return all;
  } catch (const Error& error) {
    log.warn(fmt::format("eval: {}: it is written anew", error.what()));
    return record;
  }
}

// Of what a task is judged by: every text and label in its place. No text holds a zero (text_lines.h).
std::string digest_of_set(const SentenceSet& set) {
  Sha256 hash;
  const auto take = [&](const std::string& word) { hash.update(word.c_str(), word.size() + 1); };
  const auto take_part = [&](const LabelledText& part) {
    take(std::to_string(part.texts.size()));
    for (size_t i = 0; i < part.texts.size(); ++i) {
      take(part.texts[i]);
      if (!part.seconds.empty()) take(part.seconds[i]);
      take(set.classes[static_cast<size_t>(part.labels[i])]);
    }
  };
  take_part(set.train);
  if (set.test) take_part(*set.test);
  return hash.hex();
}

std::vector<std::string> texts_of(std::span<const SentenceSet> sets) {
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

std::vector<std::string> lines_with_words(const std::string& path, Encoding encoding, const SentenceRun& run) {
  std::vector<std::string> texts;
  TextLines lines(path, encoding);
  for (std::string_view line; lines.next(line);) {
    texts.emplace_back(line);
    if (run.ids(texts.back()).empty()) lines.refuse("no word; give a sentence on every line");
  }
  return texts;
}

// Of which none of the runs knows a word.
int64_t unknown_texts(const std::vector<std::string>& texts, std::span<const SentenceRun> runs) {
  return std::ranges::count_if(texts, [&](const std::string& text) {
    return std::ranges::all_of(
        runs, [&](const SentenceRun& run) { return std::ranges::all_of(run.ids(text), [](int32_t id) { return id == 0; }); });
  });
}

JudgedTask judge(const SentenceSet& set, const std::vector<SentenceRun>& runs, bool cheap, Progress& progress, Log& log) {
  const std::vector<std::string> texts = texts_of({&set, 1});
  const int64_t unknown = unknown_texts(texts, runs);
  if (unknown > 0) {
    log.warn(fmt::format("eval: {} of {} texts of '{}' have not one word that the run knows; their vectors say nothing", unknown,
                         texts.size(), set.name));
  }
  const EmbedTexts embed = [&](const std::vector<std::string>& some) { return embed_with_all(runs, some, progress); };
  return {judge_task(set, embed, cheap ? TaskMode::kCheap : TaskMode::kFull, runs.front().run.seed, progress), unknown, std::ssize(texts),
          digest_of_set(set)};
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
  const std::vector<SentenceSet> sets = read_sets(arguments, *log);
  if (!arguments.expand.empty()) {
    const std::vector<std::string> texts = texts_of(sets);
    for (auto& run : runs) run.expand(fmt::format("eval sentences: {}", run.run.checkpoint), arguments.expand, texts, *log);
  }
  std::vector<JudgedTask> judged;
  for (const SentenceSet& set : sets) judged.push_back(judge(set, runs, arguments.cheap, *progress, *log));
  const EvaluationRecord record =
      with_judged(record_of(judged, arguments, runs), first.checkpoint, arguments.untrained ? 0 : first.epoch, {});
  if (arguments.json) {
    nlohmann::ordered_json out = {{"run", arguments.run}, {"checkpoint", first.checkpoint}, {"epoch", record.epoch}};
    out["protocols"]["sentences"] = to_json(record);
    print_json(out);
  } else {
    print_lines(fmt::format("{} ({}), {} dimensions{}{}\n{}", first.checkpoint,
                            arguments.untrained ? "untrained" : fmt::format("epoch {}", first.epoch), dimensions_of(runs),
                            arguments.cheap ? ", cheap" : "", arguments.expand.empty() ? "" : ", expanded", table_of(judged)));
  }
  if (!first.folder.empty()) {
    const EvaluationFiles files(first.folder, kind_of(arguments, first.checkpoint));
    EvaluationResult result;
    result.record = beside_other_tasks(files.path("sentences") + ".json", record, *log);
    files.write("sentences", result, result.record, Thumbnails::kKeep);
  }
  if (condition) check_condition(*condition, record.metrics);
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
  if (!arguments.expand.empty()) run.expand("embed", arguments.expand, texts, *log);
  const auto progress = terminal_progress();
  const at::Tensor vectors = run.embed(texts, *progress).contiguous();
  write_npy(out, DType::kFloat32, {vectors.size(0), vectors.size(1)}, vectors.const_data_ptr());
  const int64_t unknown = unknown_texts(texts, {&run, 1});
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
