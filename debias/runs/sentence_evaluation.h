// Evaluation of training on sentences, on `data.valid` and `data.test` of the recipe.
#pragma once

#include <memory>
#include <string>

#include "debias/core/progress.h"
#include "debias/evaluate/protocol.h"
#include "debias/evaluate/sentence_reader.h"
#include "debias/runs/evaluated_data.h"
#include "debias/text/characters.h"
#include "debias/train/loop/trainer.h"

namespace debias {

class Sentences;

// A run on sentences with the valid and the test set of `data`, opened with the run's vocabulary. Usage errors: no sentences, another
// vocabulary, no book as long as a batch. Data errors of open_reader().
EvaluationInput sentences_for_evaluation(const LoadedRun& run, const EvaluatedData& data, DataWatch& watch);

// An observer with the protocols of `evaluate.protocols`; without any, `neighbours` if there are evaluated sets. Null if nothing is
// evaluated. Metrics of the untrained encoder by protocols of splits are logged before training, and stored as
// RUN/evaluation/PROTOCOL-untrained.json. Books with fewer sentences than a batch are left out, and named before training, as is a book
// that is trained on, too, or that is in both sets where `select` chooses. Usage errors: a `select` without a valid set; those of
// sentences_for_evaluation().
std::shared_ptr<TrainObserver> make_sentence_evaluation(const Recipe& recipe, const Config& resolved, const Sentences& train,
                                                        DataWatch& watch, Progress& progress, Log& log);

// The training set's vocabulary, as RUN/vocabulary.txt, if samples are sentences.
void keep_vocabulary(TrainInput& input);

// A run on sentences: its pair of encoders and its vocabulary.

// The vocabulary of a run: RUN/vocabulary.txt or, for a lone checkpoint, the file that its recipe names.
std::string vocabulary_file(const LoadedRun& run);

// The run's encoders with its vocabulary. Data errors: no vocabulary, or one whose size differs from the checkpoint's tables.
std::shared_ptr<SentenceReader> open_reader(const LoadedRun& run);

struct SentenceRun {
  LoadedRun run;
  std::shared_ptr<SentenceReader> reader;
};

// `untrained` uses the recipe's initial weights in place of the checkpoint's. Errors of load_run and open_reader; usage error for a run on
// images.
SentenceRun open_sentence_run(const std::string& path, const std::string& which, bool untrained = false);

// Parses the value of `--encoding utf8|latin1`.
Encoding encoding_named(const std::string& word);

}  // namespace debias
