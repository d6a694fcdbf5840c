// A training run: recipe in, run folder out.
//
// Same recipe, seed and thread count: same weights and metric files, byte for byte, however often the run was stopped and resumed and
// however many workers made its views.
//
// With several processes (`ranks`), each calls train() with the same recipe and data; rank 0's alone has observers, and
// reads and writes the run folder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "debias/data/sample_table.h"
#include "debias/train/loop/training_loop.h"
#include "debias/train/methods/model.h"
#include "debias/train/methods/sampling.h"
#include "debias/train/recipe/recipe.h"

namespace debias {

struct EpochEnd {
  int64_t epoch = 0;  // finished epochs, from 1
  int64_t epochs = 0;
  const Model& model;
};

// Observes a run from outside, at the end of each epoch: evaluators, estimators of a class prior. Its metrics join the epoch's line. An
// exception ends the run with `evaluate.on_error: stop`; else it is logged, kept (TrainResult::failed_evaluations), and the line lacks
// its metrics.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  // Before a new run has a folder, and before a resumed run's first step. An exception ends the run.
  virtual void before_training(const Model&) {}
  virtual bool feeds_training() const { return false; }  // its metrics are used in training: what it throws always ends the run
  virtual bool is_due(int64_t /*epoch*/, int64_t /*epochs*/) const { return true; }
  // At each epoch that is_due(). The epoch's checkpoint is on disk; a run that ends here evaluates again when it is resumed.
  virtual std::vector<std::pair<std::string, double>> after_epoch(const EpochEnd& end) = 0;
};

struct TrainInput : RunControl {
  Recipe recipe;
  std::shared_ptr<const SampleTable> dataset;  // recipe.train_data, opened
  std::vector<std::shared_ptr<TrainObserver>> observers;
  std::vector<std::pair<std::string, std::string>> kept_files;  // name in the run folder, text: what its readers need beside a checkpoint
  std::vector<std::string> data_roots;                          // folders in which nothing may be written
  DataRecord data;  // what the data sets are now; those that are not in it are not compared at resume
  DataChange data_change = DataChange::kRefuse;
};

// Throws kInterrupted after a stop signal, with a checkpoint written; numeric errors leave the last checkpoint in place.
TrainResult train(const TrainInput& input);

// Every default written out; a valid recipe again, and resolving it changes nothing.
Config resolve_recipe(const Recipe& recipe, const SampleTable& dataset);

// Cost of a run, from a few trial steps; writes nothing.
struct TrainPlan {
  std::string samples_are, inputs_are;  // "images" and "views", of text "sentences" both
  int64_t samples = 0, steps_per_epoch = 0, epochs = 0;
  int64_t parameters = 0;
  double seconds_per_step = 0;         // with inputs made as they will be
  double seconds_per_cached_step = 0;  // on one batch held in memory
  int64_t trial_steps = 0;             // timed steps of each kind
  double seconds_per_epoch = 0, seconds_total = 0;
  int64_t peak_bytes = 0;  // of the process, after the trial steps
  int64_t checkpoint_bytes = 0;
  std::vector<DrawnGroup> groups;    // where the recipe has a sampler
  std::vector<std::string> undrawn;  // undrawn_groups(), and the notes of the batches source
};
TrainPlan plan_training(const TrainInput& input);

// TrainPlan::seconds_per_step alone, from three timed steps: for many settings.
double seconds_of_step(const TrainInput& input);

}  // namespace debias
