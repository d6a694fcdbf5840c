// Training on sentences, judged: `data.valid` and `data.test` of a recipe whose training set is sentences.
#pragma once

#include <memory>

#include "apps/debias/judged_run.h"
#include "debias/core/progress.h"
#include "debias/train/trainer.h"

namespace debias {

// Every `evaluate.every` epochs, and at the end: "valid.neighbour_acc" and "test.neighbour_acc" (evaluate/neighbour_retrieval.h) in batches
// of the recipe's batch_size, also in RUN/evaluation/neighbours.json. Before training the same of the untrained encoder is told. Null
// without either set. Books with fewer sentences than a batch are left out, and named before training, as is a book that is
// trained on, too, or that is in both sets where `select` chooses. Usage errors: protocols, which judge images; a `select` without a valid
// set; another vocabulary than that of `train`, the training set; no book as long as a batch.
std::shared_ptr<TrainObserver> make_neighbour_evaluation(const Recipe& recipe, const Config& resolved, const SampleTable& train,
                                                         DataWatch& watch, Progress& progress, Log& log);

// The training set's words, as RUN/vocabulary.txt, where samples are sentences.
void keep_vocabulary(TrainInput& input);

}  // namespace debias
