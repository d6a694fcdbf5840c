// A training that the loop of a run (training_loop.h) drives: an encoder on images or sentences, an agent in its environment.
//
// The loop owns the run: folder, log, metric files, checkpoints, evaluations, signals, resumption. A training owns the networks, and
// decides where an epoch ends and what a checkpoint contains.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "debias/core/progress.h"
#include "debias/train/loop/rank_batches.h"
#include "debias/train/loop/train_log.h"
#include "debias/train/state/checkpoint.h"
#include "debias/train/state/metric_files.h"

namespace debias {

// Evaluates a run at the end of its epochs.
class EpochObserver {
 public:
  virtual ~EpochObserver() = default;
  virtual bool is_due(int64_t /*epoch*/, int64_t /*epochs*/) const { return true; }  // `epoch`: finished ones, from 1
  virtual bool feeds_training() const { return false; }                              // what it throws always ends the run
  virtual Metrics after_epoch(int64_t epoch, int64_t epochs) = 0;
};

// The run that a training is part of.
struct RunAccess {
  std::string folder;
  TrainLog& log;
  Progress& progress;
  TrainingState& state;                                 // a training counts `step` and `batch`, the loop all else that every training has
  MetricFiles* metrics = nullptr;                       // for step lines, from the first epoch on; null on ranks other than 0
  std::function<std::optional<double>()> seconds_left;  // of the whole run, evaluations included; nullopt: not known yet
};

// Progress of a run, in steps of equal cost.
struct RunProgress {
  int64_t done = 0, total = 0;
};

// Samples trained on since begin_epoch().
struct Counted {
  int64_t count = 0;
  std::string what;  // "images"
};

class Training {
 public:
  virtual ~Training() = default;

  // Builds the networks. For a new run it comes before the folder, so that a recipe that cannot run leaves none.
  virtual void build() = 0;
  // Behind build(), in the run's folder: a new training (null), or resumes from `checkpoint`, whose state `run.state` has. `run` outlives
  // the training. Data errors: a checkpoint that does not fit.
  virtual void begin(RunAccess& run, const OpenCheckpoint* checkpoint) = 0;
  virtual void write_files(const DataRecord& /*data*/) const {}  // what else belongs into the run's folder; of rank 0 alone
  virtual void announce() const = 0;                             // log lines before the first step
  virtual std::vector<EpochObserver*> observers() { return {}; }

  virtual void begin_epoch() = 0;                          // or the rest of it
  virtual bool next(const StepOrders& own) = 0;            // whether the epoch has one more step; `own`: the orders of this rank
  virtual void step() = 0;                                 // trains it
  virtual StepOrders orders_of_all() const { return {}; }  // with several ranks: those of the last step
  virtual bool needs_save() const { return false; }        // a checkpoint is due regardless of the recipe
  virtual Metrics epoch_metrics() const = 0;
  virtual void end_epoch(const Metrics& metrics) = 0;  // takes what the evaluations measured, clears what the epoch has summed up
  virtual void end(const std::string& /*folder*/) {}   // the run is finished, now or before: clears what only training needed

  virtual std::optional<RunProgress> progress() const = 0;  // nullopt: the steps so far say nothing of those to come
  virtual Counted counted() const = 0;
  virtual std::string speed_text(double per_second) const = 0;  // "512 images/s, ..."
  virtual std::string place() const { return ""; }              // within the epoch: "batch 7"

  virtual NamedTensors weights() const = 0;         // which a checkpoint has only where they are finite
  virtual NamedTensors tensors() = 0;               // all that a checkpoint holds, weights first
  virtual Metadata metadata() const { return {}; }  // more of them, under keys of the training's own
};

}  // namespace debias
