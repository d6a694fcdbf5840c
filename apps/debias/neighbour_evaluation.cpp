#include "apps/debias/neighbour_evaluation.h"

#include <set>

#include "apps/debias/evaluation_files.h"
#include "debias/core/error.h"
#include "debias/core/real_path.h"
#include "debias/core/registry.h"
#include "debias/data/readers/sentences.h"
#include "debias/evaluate/neighbour_retrieval.h"
#include "debias/loader/sentence_batches.h"

namespace debias {
namespace {

struct JudgedSentences {
  std::string split;
  std::shared_ptr<const Sentences> sentences;
};

class NeighbourEvaluation final : public TrainObserver {
 public:
  NeighbourEvaluation(const Recipe& recipe, JudgedData data, std::vector<JudgedSentences> judged, std::vector<std::string> warnings,
                      Progress& progress, Log& log)
      : recipe_(recipe),
        data_(std::move(data)),
        judged_(std::move(judged)),
        warnings_(std::move(warnings)),
        files_(recipe.output, ""),
        progress_(progress),
        log_(log) {}

  void before_training(const Model& model) override {
    for (const auto& line : warnings_) log_.warn(line);
    for (const auto& [split, sentences] : judged_) {
      const std::string line = short_books(*sentences, recipe_.train.batch_size());
      if (!line.empty()) log_.warn(fmt::format("data.{}: {}", split, line));
    }
    untrained_ = judge(model);
    untrained_.options["untrained"] = true;
    for (const auto& [name, value] : untrained_.metrics) log_.info(fmt::format("before training: {} {:.4f}", name, value));
  }
  bool is_due(int64_t epoch, int64_t epochs) const override { return epoch % recipe_.evaluate.every() == 0 || epoch == epochs; }

  std::vector<std::pair<std::string, double>> after_epoch(const EpochEnd& end) override {
    const EvaluationRecord record = with_judged(judge(end.model), "last.safetensors", end.epoch, data_);
    EvaluationResult result;
    result.record = record;
    files_.write_history("neighbours", record, end.epoch);
    files_.write("neighbours", result, record, Thumbnails::kKeep);
    keep_untrained();
    return record.metrics;
  }

 private:
  // Not before training: a new run has no folder then, and a plan has none at all.
  void keep_untrained() {
    if (untrained_.metrics.empty()) return;
    EvaluationResult result;
    result.record = with_judged(untrained_, "last.safetensors", 0, data_);
    EvaluationFiles(recipe_.output, "untrained").write("neighbours", result, result.record, Thumbnails::kKeep);
    untrained_ = {};
  }

  EvaluationRecord judge(const Model& model) const {
    EvaluationRecord record;
    record.protocol = "neighbours";
    record.options = {{"batch_size", recipe_.train.batch_size()}, {"chance", 2.0 / static_cast<double>(recipe_.train.batch_size())}};
    for (const auto& [split, sentences] : judged_) {
      const NeighbourRetrieval found = retrieve_neighbours(*model.encoder, sentences, recipe_.train.batch_size(), progress_);
      const std::string name = split + ".neighbour_acc";
      record.metrics.emplace_back(name, found.accuracy());
      record.intervals[name] = found.interval();
      record.counts.emplace_back(split, found.sentences);
    }
    return record;
  }

  Recipe recipe_;
  JudgedData data_;
  std::vector<JudgedSentences> judged_;
  std::vector<std::string> warnings_;
  EvaluationFiles files_;
  Progress& progress_;
  Log& log_;
  EvaluationRecord untrained_;  // until it is kept
};

// Encoders know words by their numbers in training, and retrieval takes whole batches.
void require_judgeable(const std::string& where, const Sentences& judged, const SampleTable& train, int64_t batch) {
  const auto* trained = dynamic_cast<const Sentences*>(&train);
  if (trained != nullptr && judged.vocabulary().words() != trained->vocabulary().words()) {
    throw usage_error("{}: vocabulary '{}' has other words than that of data.train, '{}'; leave it out, and it is that of training", where,
                      judged.options().vocabulary(), trained->options().vocabulary());
  }
  if (longest_book(judged) < batch) {
    throw usage_error("{}: no book has the {} sentences of a batch (train.batch_size), the longest has {}; lower it, or judge longer books",
                      where, batch, longest_book(judged));
  }
}

JudgedSentences judged_sentences(const std::string& split, const Config& section, const Recipe& recipe, const SampleTable& train,
                                 DataWatch& watch) {
  if (section_name(section, "data set") != "sentences") {
    throw usage_error("{}data.{}: its samples are no sentences, those of data.train are; write name: sentences", section.prefix(), split);
  }
  Config own = section;
  for (const char* key : {"vocabulary", "lowercase", "max_tokens", "format", "encoding"}) {  // words are numbered as in training
    const Config* given = recipe.train_data.find(key);
    if (own.find(key) == nullptr && given != nullptr) own.set(key, *given);
  }
  JudgedSentences judged = {split, std::dynamic_pointer_cast<const Sentences>(watch.open_samples(split, own))};
  require_judgeable(fmt::format("{}data.{}", section.prefix(), split), *judged.sentences, train, recipe.train.batch_size());
  return judged;
}

// The name of the first book of `judged` that `other` reads too; "" where there is none.
std::string shared_book(const Sentences& judged, const Sentences& other) {
  std::set<std::string> read;
  for (const auto& book : other.books()) read.insert(real_path(other.file_of(book).path));
  for (const auto& book : judged.books()) {
    if (read.contains(real_path(judged.file_of(book).path))) return judged.file_of(book).name;
  }
  return "";
}

// What makes the figures of judged books better than those of books that nobody has seen. `judged`: valid first, then test.
std::vector<std::string> seen_books(const std::vector<JudgedSentences>& judged, const Sentences& train, const std::string& select) {
  std::vector<std::string> warnings;
  for (const auto& [split, sentences] : judged) {
    const std::string name = shared_book(*sentences, train);
    if (name.empty()) continue;
    warnings.push_back(fmt::format(
        "data.{}: '{}' is a book of data.train, too, so that what was trained on is judged; set books aside with hold_out", split, name));
  }
  if (select.empty() || judged.size() < 2) return warnings;
  const std::string name = shared_book(*judged[1].sentences, *judged[0].sentences);
  if (name.empty()) return warnings;
  warnings.push_back(fmt::format("data.{}: '{}' is a book of data.{}, too, by which evaluate.select chooses the best epoch; judge others",
                                 judged[1].split, name, judged[0].split));
  return warnings;
}

}  // namespace

std::shared_ptr<TrainObserver> make_neighbour_evaluation(const Recipe& recipe, const Config& resolved, const SampleTable& train,
                                                         DataWatch& watch, Progress& progress, Log& log) {
  if (!recipe.evaluate.protocols().empty()) {
    throw usage_error("evaluate: protocols judge images; leave them out, and judge sentences with debias eval sentences");
  }
  if (!recipe.evaluate.select().empty() && recipe.valid_data.is_null()) {
    throw usage_error("evaluate: select '{}' needs data.valid; add it", recipe.evaluate.select());
  }
  std::vector<JudgedSentences> judged;
  const JudgedData data = data_of(read_recipe(resolved));
  if (!recipe.valid_data.is_null()) judged.push_back(judged_sentences("valid", recipe.valid_data, recipe, train, watch));
  if (!recipe.test_data.is_null()) judged.push_back(judged_sentences("test", recipe.test_data, recipe, train, watch));
  if (judged.empty()) return nullptr;
  const auto* trained = dynamic_cast<const Sentences*>(&train);
  std::vector<std::string> warnings;
  if (trained != nullptr) warnings = seen_books(judged, *trained, recipe.evaluate.select());
  return std::make_shared<NeighbourEvaluation>(recipe, data, std::move(judged), std::move(warnings), progress, log);
}

void keep_vocabulary(TrainInput& input) {
  const auto* sentences = dynamic_cast<const Sentences*>(input.dataset.get());
  if (sentences != nullptr) input.kept_files.emplace_back("vocabulary.txt", sentences->vocabulary().text());
}

}  // namespace debias
