#include "debias/runs/sentence_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/paths.h"
#include "debias/core/registry.h"
#include "debias/data/dataset_registry.h"
#include "debias/data/readers/sentences.h"
#include "debias/evaluate/protocol_registry.h"
#include "debias/loader/sentence_batches.h"
#include "debias/runs/protocol_evaluation.h"
#include "debias/train/methods/model.h"
#include "debias/train/recipe/recipe.h"

namespace debias {
namespace {

using EvaluatedBooks = std::vector<SentenceInput::Evaluated>;

class SentenceEvaluation final : public ProtocolEvaluation {
 public:
  SentenceEvaluation(const Recipe& recipe, std::vector<std::string> protocols, EvaluatedData data, std::shared_ptr<SentenceReader> reader,
                     EvaluatedBooks evaluated, std::vector<std::string> warnings, Progress& progress, Log& log)
      : ProtocolEvaluation(recipe, std::move(protocols), std::move(data), {}, progress, log),
        reader_(std::move(reader)),
        evaluated_(std::move(evaluated)),
        warnings_(std::move(warnings)) {}

  void before_training(const Model& model) override {
    for (const auto& line : warnings_) log_.warn(line);
    for (const auto& [split, books] : evaluated_) {
      const std::string line = short_books(*books, recipe_.train.batch_size);
      if (!line.empty()) log_.warn(fmt::format("data.{}: {}", split, line));
    }
    take(model);
    EvaluationCache cache(input_, progress_, recipe_.protocol_options);
    for (const auto& protocol : protocols_) {
      if (!protocol_for(SampleKind::kSentences, protocol).is_of_splits) continue;  // debias eval sentences --untrained evaluates tasks
      EvaluationResult result = cache.evaluate(protocol);
      result.record.options["untrained"] = true;
      for (const auto& [name, value] : result.record.metrics) log_.info(fmt::format("before training: {} {:.4f}", name, value));
      untrained_.push_back(std::move(result));
    }
  }

  std::vector<std::pair<std::string, double>> after_epoch(const EpochEnd& end) override {
    auto metrics = ProtocolEvaluation::after_epoch(end);
    keep_untrained();
    return metrics;
  }

 protected:
  void take(const Model& model) override {
    ProtocolEvaluation::take(model);
    reader_->encoder = model.encoder;
    input_.sentences = sentence_input({reader_}, progress_);
    input_.sentences->evaluated = evaluated_;
    input_.sentences->batch_size = recipe_.train.batch_size;
    input_.seed = recipe_.seed;
  }

 private:
  // Not before training: a new run has no folder then, and a plan has none at all.
  void keep_untrained() {
    for (auto& result : untrained_) {
      const std::string protocol = result.record.protocol;
      result.record = with_evaluated(result.record, "last.safetensors", 0, data_);
      EvaluationFiles(recipe_.output, "untrained").write(protocol, result, result.record, Thumbnails::kKeep);
    }
    untrained_.clear();
  }

  std::shared_ptr<SentenceReader> reader_;
  EvaluatedBooks evaluated_;
  std::vector<std::string> warnings_;
  std::vector<EvaluationResult> untrained_;  // until they are kept
};

// The words that a run was trained with, and the file that they are from.
struct TrainedWords {
  const Vocabulary& vocabulary;
  std::string file;
};

// Encoders know words by their numbers in training, and retrieval takes whole batches.
void require_evaluable(const std::string& where, const Sentences& evaluated, const TrainedWords& trained, int64_t batch) {
  if (evaluated.vocabulary().words() != trained.vocabulary.words()) {
    throw usage_error("{}: vocabulary '{}' has other words than that of data.train, '{}'; leave it out to use that of training", where,
                      evaluated.options().vocabulary, trained.file);
  }
  if (longest_book(evaluated) < batch) {
    throw usage_error(
        "{}: no book has the {} sentences of a batch (train.batch_size), the longest has {}; lower it, or evaluate longer books", where,
        batch, longest_book(evaluated));
  }
}

SentenceInput::Evaluated books_of(const std::string& split, const ChosenData& data, const Recipe& recipe, const TrainedWords& trained,
                                  DataWatch& watch) {
  const std::string where = fmt::format("{}data.{}", data.section.prefix(), split);
  if (data.entry->samples != SampleKind::kSentences) {
    throw usage_error("{}: its samples are not sentences, those of data.train are; write name: sentences", where);
  }
  Config shared = Config::map({{"vocabulary", Config::string(trained.file)}});
  for (const char* key : {"lowercase", "max_tokens", "format", "encoding"}) {
    if (const Config* given = recipe.train_data.section.find(key)) shared.set(key, *given);
  }
  SentenceInput::Evaluated evaluated = {split, sentences_of(watch.open_samples(split, data.with_missing(shared)))};
  require_evaluable(where, *evaluated.books, trained, recipe.train.batch_size);
  return evaluated;
}

EvaluatedBooks evaluated_books(const Recipe& recipe, const EvaluatedData& data, const TrainedWords& trained, DataWatch& watch) {
  EvaluatedBooks evaluated;
  if (data.valid) evaluated.push_back(books_of("valid", *data.valid, recipe, trained, watch));
  if (data.test) evaluated.push_back(books_of("test", *data.test, recipe, trained, watch));
  return evaluated;
}

// The name of the first book of `evaluated` that `other` reads too; "" where there is none.
std::string shared_book(const Sentences& evaluated, const Sentences& other) {
  std::set<std::string> read;
  for (const auto& book : other.books()) read.insert(real_path(other.file_of(book).path));
  for (const auto& book : evaluated.books()) {
    if (read.contains(real_path(evaluated.file_of(book).path))) return evaluated.file_of(book).name;
  }
  return "";
}

// Reasons that make figures of evaluated books better than those of unseen books. `evaluated`: valid first, then test.
std::vector<std::string> seen_books(const EvaluatedBooks& evaluated, const Sentences& train, const std::string& select) {
  std::vector<std::string> warnings;
  for (const auto& [split, books] : evaluated) {
    const std::string name = shared_book(*books, train);
    if (name.empty()) continue;
    warnings.push_back(fmt::format(
        "data.{}: '{}' is a book of data.train, too, so the run is evaluated on what it was trained on; hold books out with hold_out",
        split, name));
  }
  if (select.empty() || evaluated.size() < 2) return warnings;
  const std::string name = shared_book(*evaluated[1].books, *evaluated[0].books);
  if (name.empty()) return warnings;
  warnings.push_back(
      fmt::format("data.{}: '{}' is a book of data.{}, too, by which evaluate.select chooses the best epoch; evaluate on others",
                  evaluated[1].split, name, evaluated[0].split));
  return warnings;
}

}  // namespace

EvaluationInput sentences_for_evaluation(const LoadedRun& run, const EvaluatedData& data, DataWatch& watch) {
  const Recipe recipe = read_recipe(run.recipe);
  const std::shared_ptr<SentenceReader> reader = open_reader(run);
  EvaluationInput input;
  input.encoder = reader->encoder;
  input.seed = run.seed;
  input.sentences = sentence_input({reader}, watch.progress());
  input.sentences->evaluated = evaluated_books(recipe, data, {reader->vocabulary, vocabulary_file(run)}, watch);
  input.sentences->batch_size = recipe.train.batch_size;
  return input;
}

std::shared_ptr<TrainObserver> make_sentence_evaluation(const Recipe& recipe, const Config& resolved, const Sentences& train,
                                                        DataWatch& watch, Progress& progress, Log& log) {
  require_more_is_better(recipe.evaluate.select);
  if (!recipe.evaluate.select.empty() && !recipe.valid_data) {
    throw usage_error("evaluate: select '{}' needs data.valid; add it", recipe.evaluate.select);
  }
  const EvaluatedBooks evaluated = evaluated_books(recipe, data_of(recipe), {train.vocabulary(), train.options().vocabulary}, watch);
  std::vector<std::string> protocols;
  for (const auto& name : recipe.evaluate.protocols) protocols.push_back(protocol_for(SampleKind::kSentences, name).name);
  if (protocols.empty() && !evaluated.empty()) protocols = {"neighbours"};
  if (protocols.empty()) return nullptr;
  auto reader =
      std::make_shared<SentenceReader>(SentenceReader{nullptr, Vocabulary(train.vocabulary().words()), train.options().text.lowercase});
  return std::make_shared<SentenceEvaluation>(recipe, std::move(protocols), data_of(read_recipe(resolved)), std::move(reader), evaluated,
                                              seen_books(evaluated, train, recipe.evaluate.select), progress, log);
}

void keep_vocabulary(TrainInput& input) {
  const auto* sentences = input.dataset->sentences();
  if (sentences != nullptr) input.kept_files.emplace_back("vocabulary.txt", sentences->vocabulary().text());
}

std::string vocabulary_file(const LoadedRun& run) {
  const std::string own = run.folder + "/vocabulary.txt";
  if (!run.folder.empty() && std::filesystem::exists(own)) return own;
  const std::string named = read_recipe(run.recipe).train_data.label_file;
  if (named.empty()) throw data_error("opening '{}': no vocabulary.txt beside it, and its recipe names none", run.checkpoint);
  return named;
}

std::shared_ptr<SentenceReader> open_reader(const LoadedRun& run) {
  const std::string file = vocabulary_file(run);
  Vocabulary vocabulary = Vocabulary::read(file);
  if (vocabulary.size() != run.words) {
    throw data_error("{}: {} words, the tables of '{}' have {}; give the vocabulary that it was trained with", file, vocabulary.size(),
                     run.checkpoint, run.words);
  }
  const Recipe recipe = read_recipe(run.recipe);
  const auto* options = recipe.train_data.as<SentencesOptions>();
  return std::make_shared<SentenceReader>(
      SentenceReader{run.encoder, std::move(vocabulary), options != nullptr && options->text.lowercase});
}

SentenceRun open_sentence_run(const std::string& path, const std::string& which, bool untrained) {
  LoadedRun run = load_run(path, which);
  if (run.words == 0) throw usage_error("opening '{}': it reads images; this is for runs of method quick_thoughts", path);
  if (untrained) run.encoder = make_model(read_recipe(run.recipe), run.words).encoder;
  std::shared_ptr<SentenceReader> reader = open_reader(run);
  return {std::move(run), std::move(reader)};
}

Encoding encoding_named(const std::string& word) { return word == "latin1" ? Encoding::kLatin1 : Encoding::kUtf8; }

}  // namespace debias
