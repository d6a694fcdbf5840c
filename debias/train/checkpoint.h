// A checkpoint: one safetensors file, weights and optimizers as tensors, the training state as JSON in its metadata.
//
// metadata["debias.state"] holds TrainingState, metadata["debias.recipe"] the resolved recipe as YAML, metadata["debias.classes"] the names
// of classes and bias values, metadata["debias.data"] the fingerprints of the data sets; a checksum covers header and tensors. Two
// generations are kept: `last` is renamed to `previous` before the new file takes its name, so that a reader finds a whole file at every
// moment.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "debias/core/progress.h"
#include "debias/core/safetensors.h"
#include "debias/data/name_table.h"
#include "debias/train/data_record.h"
#include "debias/train/evidence.h"
#include "debias/train/method.h"
#include "debias/train/metric_files.h"
#include "debias/train/model.h"
#include "debias/train/optimizers.h"

namespace debias {

struct FailedEvaluation {
  int64_t epoch = 0;
  std::string reason;
};

struct TrainingState {
  int64_t epoch = 0;  // finished epochs
  int64_t batch = 0;  // batches done in the epoch under way; all of them: trained, and not yet judged
  int64_t step = 0;   // steps in all
  MetricMark metrics;
  double loss_sum = 0;  // over the epoch under way
  double grad_norm_sum = 0;
  int64_t substituted = 0;  // images replaced in the epoch under way
  Evidence evidence;
  std::map<std::string, double> estimates;  // option sources: Step::estimates()
  std::optional<double> best_value;
  int64_t best_epoch = 0;
  std::vector<FailedEvaluation> failed_evaluations;
  bool finished = false;
  int64_t threads = 0;
  int64_t ranks = 1;  // processes of the run that wrote it
  std::string instruction_set;

  nlohmann::ordered_json to_json() const;
  static TrainingState from_json(const nlohmann::ordered_json& json);
};

// What does not change during a run, and goes into each of its checkpoints.
struct RunDescription {
  std::string recipe_yaml;  // resolved
  NameTable names;          // of the training set
  DataRecord data;
};

void save_checkpoint(const std::string& path, const Model& model, const Optimizers& optimizers, const Method& method,
                     const TrainingState& state, const RunDescription& run);

// Saves as `folder`/last.safetensors, the present one becoming previous.safetensors.
void save_generation(const std::string& folder, const Model& model, const Optimizers& optimizers, const Method& method,
                     const TrainingState& state, const RunDescription& run);

struct OpenCheckpoint {
  SafetensorsFile file;
  TrainingState state;
  std::string recipe_yaml;
  std::optional<NameTable> names;  // older files have none
  DataRecord data;                 // nor these
};

// Opens and verifies one file. Data errors name the path: damaged, not a checkpoint of ours, of another version, or with a training state
// that no run can have.
OpenCheckpoint open_checkpoint(const std::string& path);

// The newest whole generation of a run: last, else (saying so in `log`) previous; nullopt when neither exists; a data error when what
// exists is damaged.
std::optional<OpenCheckpoint> open_newest(const std::string& folder, Log& log);

void restore(const OpenCheckpoint& checkpoint, const Model& model, const Optimizers& optimizers, Method& method);

// {"classes": [names], "biases": [names]}: RUN/classes.json, too.
nlohmann::ordered_json to_json(const NameTable& names);

// Bytes of file names that are no UTF-8 become U+FFFD.
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

std::string instruction_set();  // what the tensor library dispatches to on this machine

}  // namespace debias
