// Progress and inputs of a training, as its checkpoints store them: JSON and YAML among the metadata of a safetensors file.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/progress.h"
#include "debias/data/fingerprint.h"
#include "debias/data/name_table.h"
#include "debias/train/methods/diagnostics.h"
#include "debias/train/state/metric_files.h"

namespace debias {

// Record of a run's data sets: fingerprints in each checkpoint, and beside them the listings (RUN/data/SPLIT.listing.gz) by which
// differences are named image by image, and data/sets.json (debias/results/run_files.h), by which runs are compared.
enum class DataChange { kRefuse, kAccept };

struct DataRecord {
  std::map<std::string, DataFingerprint> sets;  // "train", "valid", "test": those that are read
  std::vector<std::string> accepted;            // changes that a user took, one line each
};

nlohmann::ordered_json to_json(const DataRecord& record);
DataRecord data_record_from_json(const nlohmann::ordered_json& json);  // a data error where it is not what to_json writes

void write_listings(const DataRecord& record, const std::string& run_folder);

// Compares the sets that both know, except for those in `replaced`, which the user asked to be others. kRefuse: a data error that names the
// first three differences. kAccept: says them to `log`. Returns what was accepted. `what` begins the lines: "resuming 'runs/first'".
std::vector<std::string> compare_data(const DataRecord& then, const DataRecord& now, const std::string& run_folder,
                                      const std::set<std::string>& replaced, DataChange change, const std::string& what, Log& log);

struct FailedEvaluation {
  int64_t epoch = 0;
  std::string reason;
};

struct TrainingState {
  int64_t epoch = 0;  // finished epochs
  int64_t batch = 0;  // batches done in the epoch under way; all of them: trained, and not yet evaluated
  int64_t step = 0;   // steps in all
  MetricMark metrics;
  double loss_sum = 0;  // over the epoch under way
  double grad_norm_sum = 0;
  int64_t substituted = 0;  // images replaced in the epoch under way
  Diagnostics diagnostics;
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

// Constants of a run, stored in each of its checkpoints.
struct RunDescription {
  Config recipe;    // resolved
  NameTable names;  // of the training set
  DataRecord data;
};

struct StoredState {
  TrainingState state;
  std::string recipe_yaml;
  std::optional<NameTable> names;  // older files have none
  DataRecord data;                 // nor these
};

using Metadata = std::map<std::string, std::string>;

// "debias.state" holds TrainingState, "debias.recipe" the resolved recipe, "debias.classes" the names of classes and bias labels,
// "debias.data" the fingerprints of the data sets.
Metadata stored_metadata(const TrainingState& state, const RunDescription& run);

// Data errors, without a path: the state of another version, or one that no run can have. `metadata` has a state.
StoredState read_stored_state(const Metadata& metadata);
bool has_training_state(const Metadata& metadata);

// {"classes": [names], "biases": [names]}: RUN/classes.json, too.
nlohmann::ordered_json to_json(const NameTable& names);

// Bytes of file names that are not UTF-8 become U+FFFD.
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace debias
