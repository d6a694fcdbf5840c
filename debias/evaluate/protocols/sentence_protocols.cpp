#include "debias/evaluate/protocols/sentence_protocols.h"

#include <algorithm>

#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/core/paths.h"
#include "debias/core/sha256.h"
#include "debias/evaluate/sentence_reader.h"

namespace debias {

std::vector<Metric> neighbours_metrics() {
  return {{.name = "neighbour_acc",
           .title = "neighbour accuracy",
           .unit = Unit::kShare,
           .better = Better::kHigher,
           .standing = Standing::kProtocol,
           .of_batch = true}};
}

EvaluationResult run_neighbours(const EvaluationInput& input, EvaluationCache&, const NeighboursOptions& given, Progress& progress) {
  const SentenceInput& sentences = *input.sentences;
  if (sentences.evaluated.empty()) throw usage_error("neighbours: the recipe has neither data.valid nor data.test; add one of them");
  NeighboursOptions options = given;
  const int64_t batch = options.batch_size.value_or(sentences.batch_size);
  options.batch_size = batch;
  EvaluationResult result;
  EvaluationRecord& record = result.record;
  record.protocol = "neighbours";
  record.options = config_of(options).to_json();
  record.options["chance"] = 2.0 / static_cast<double>(batch);
  for (const auto& [split, books] : sentences.evaluated) {
    const NeighbourRetrieval found = retrieve_neighbours(*input.encoder, books, batch, progress);
    const std::string name = split + ".neighbour_acc";
    result.metrics[name] = found.accuracy();
    record.metrics.emplace_back(name, found.accuracy());
    record.intervals[name] = found.interval();
    record.counts.emplace_back(split, found.sentences);
  }
  return result;
}

namespace {

constexpr const char* kSentencesProtocol = "sentences";

void require_tasks(const SentencesProtocolOptions& options, const std::string& what) {
  const auto& known = sentence_set_names();
  for (auto task = options.tasks.begin(); task != options.tasks.end(); ++task) {
    if (std::ranges::find(known, *task) == known.end()) {
      throw usage_error("{}: unknown task '{}'{}", what, *task, suggestion(*task, known));
    }
    if (std::find(options.tasks.begin(), task, *task) != task) {
      throw usage_error("{}: task '{}' is requested twice; give it once", what, *task);
    }
  }
}

std::vector<SentenceSet> read_sets(const SentencesProtocolOptions& options, std::vector<std::string>& notes) {
  if (options.root.empty())
    throw usage_error("sentences: no root is given; write sentences: {{root: DIR}}, a folder with the sentence sets");
  std::vector<SentenceSet> sets;
  for (const auto& task : options.tasks.empty() ? sentence_set_names() : options.tasks) {
    auto set = read_sentence_set(task, options.root);
    if (set) {
      sets.push_back(std::move(*set));
    } else {
      notes.push_back(fmt::format("sentences: no files of '{}' in '{}': it is left out", task, options.root));
    }
  }
  if (!sets.empty()) return sets;
  throw data_error(
      "sentences: no sentence set in '{}'{}: expected rt-polarity.pos, custrev.pos, subj.subjective, mpqa.pos, TREC.train or "
      "msr_paraphrase_train.txt there or in folders of it",
      options.root, start_of(options.root));
}

void add_texts(const SentenceSet& set, std::vector<std::string>& texts) {
  for (const LabelledText* part : {&set.train, set.test ? &*set.test : nullptr}) {
    if (part == nullptr) continue;
    texts.insert(texts.end(), part->texts.begin(), part->texts.end());
    texts.insert(texts.end(), part->seconds.begin(), part->seconds.end());
  }
}

// Digest of every text and label in its place. No text holds a zero (characters.h).
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

void evaluate_set(const SentenceSet& set, const EvaluationInput& input, TaskMode mode, EvaluationResult& result, Progress& progress) {
  const SentenceInput& sentences = *input.sentences;
  std::vector<std::string> texts;
  add_texts(set, texts);
  const TaskResult found = evaluate_task(set, sentences.embed, mode, input.seed, progress);
  EvaluatedTask task;
  task.name = set.name;
  task.evaluated = found.evaluated;
  task.C = found.C;
  task.majority = found.majority;
  task.unknown = std::ranges::count_if(texts, [&](const std::string& text) { return !sentences.knows(text); });
  task.texts = std::ssize(texts);
  task.digest = digest_of_set(set);
  if (task.unknown > 0) {
    result.notes.push_back(
        fmt::format("sentences: {} of {} texts of '{}' have no word that the run knows; their vectors carry no information", task.unknown,
                    task.texts, set.name));
  }
  if (found.unfinished > 0) result.notes.push_back(fmt::format("sentences: {}: {} fits did not converge", set.name, found.unfinished));
  for (const TaskScore& score : found.scores) {
    result.metrics[score.metric] = score.value;
    result.record.metrics.emplace_back(score.metric, score.value);
    result.record.intervals[score.metric] = score.interval;
  }
  result.record.tasks.push_back(std::move(task));
}

}  // namespace

void SentencesProtocolOptions::describe(OptionVisitor& o) {
  o("root", root, "folder with the sentence sets, or with folders of them");
  o("tasks", tasks, "tasks to evaluate, such as [mr, trec]; empty: all six");
  o("mode", mode, "choice of C: by tenfold cross-validation (full), or on a tenth of the training set (cheap)");
  o.check([this](const std::string& what) { require_tasks(*this, what); });
}

EvaluationResult run_sentence_tasks(const EvaluationInput& input, EvaluationCache&, const SentencesProtocolOptions& options,
                                    Progress& progress) {
  EvaluationResult result;
  const std::vector<SentenceSet> sets = read_sets(options, result.notes);
  const SentenceInput& sentences = *input.sentences;
  if (sentences.prepare) {
    std::vector<std::string> texts;
    for (const SentenceSet& set : sets) add_texts(set, texts);
    sentences.prepare(texts);
  }
  result.record.protocol = kSentencesProtocol;
  result.record.options = {{"mode", enum_name(options.mode)}, {"dimensions", sentences.dimensions}};
  result.record.options.update(sentences.described);
  if (options.mode == TaskMode::kCheap) result.variant = "cheap";
  for (const SentenceSet& set : sets) evaluate_set(set, input, options.mode, result, progress);
  return result;
}

}  // namespace debias
