// The loop of every run: epochs, evaluations, checkpoints, metric files, a stop by signal, resumption.
//
// The same training gives the same weights and metric files, byte for byte, however often the run was stopped and resumed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/progress.h"
#include "debias/ranks/ranks.h"
#include "debias/train/recipe/recipe.h"
#include "debias/train/state/run_folder.h"
#include "debias/train/state/training_state.h"

namespace debias {

class Training;

// Options of the caller that starts a run.
struct RunControl {
  ExistingFolder existing = ExistingFolder::kRefuse;
  const std::atomic<int>* stop_signal = nullptr;  // non-zero: checkpoint and stop
  // True while all that was trained is on disk (at the start, in evaluations): a stop may then end the process at once.
  std::atomic<bool>* all_saved = nullptr;
  std::atomic<bool>* begun = nullptr;                                   // set once there is a run that can be resumed
  std::chrono::milliseconds full_disk_retry = std::chrono::minutes(1);  // with `train.on_full_disk: wait`
  const Ranks* ranks = &Ranks::alone();
  Progress* progress = &Progress::silent();
  Log* log = &Log::silent();
};

// Settings of the loop from a recipe.
struct LoopRecipe {
  std::string output;
  Config resolved;
  int64_t epochs = 1;
  double checkpoint_every = 0;  // seconds; 0: at the end of an epoch alone
  OnFullDisk on_full_disk = OnFullDisk::kStop;
  std::string select;  // metric whose epoch of the highest value `best` is; empty: none
  EvaluationFailure on_evaluation_error = EvaluationFailure::kStop;
};

// Inputs of a run beside its recipe.
struct LoopData {
  NameTable names;    // of classes and bias labels
  DataRecord record;  // what the data sets are now; those that are not in it are not compared at resume
  DataChange change = DataChange::kRefuse;
  std::vector<std::string> roots;  // folders in which nothing may be written
};

struct TrainResult {
  std::string folder;
  int64_t epochs = 0;
  bool already_finished = false;                     // a resumed run that had nothing left to do
  Metrics metrics;                                   // of the last epoch, empty when already finished
  std::vector<FailedEvaluation> failed_evaluations;  // of the whole run
  double seconds = 0;
};

// Throws kInterrupted after a stop signal, with a checkpoint written; numeric errors leave the last checkpoint in place.
TrainResult run_training(Training& training, const LoopRecipe& recipe, const LoopData& data, const RunControl& control);

}  // namespace debias
