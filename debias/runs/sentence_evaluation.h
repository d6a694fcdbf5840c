// Evaluation of training on sentences, on `data.valid` and `data.test` of the recipe.
#pragma once

#include <memory>

#include "debias/core/progress.h"
#include "debias/evaluate/protocol.h"
#include "debias/runs/evaluated_data.h"
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

}  // namespace debias
