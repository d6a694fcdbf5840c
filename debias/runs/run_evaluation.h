// Evaluates a run's frozen encoder by protocols, as `debias eval` does.
//
//   EvaluationRequest request{.run = "runs/first", .protocols = {{"knn", parse_yaml("{k: 50}", "mine")}, {"linear"}}};
//   const RunEvaluation found = evaluate_run(request, Progress::silent(), Log::silent());
//   found.metrics();  // {"test.knn_acc1", 0.93}, ...
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/progress.h"
#include "debias/data/readers/label_file.h"
#include "debias/evaluate/embedding_file.h"
#include "debias/evaluate/protocol.h"
#include "debias/evaluate/protocol_registry.h"
#include "debias/features/feature_table.h"
#include "debias/runs/evaluated_data.h"
#include "debias/train/state/training_state.h"

namespace debias {

struct RequestedProtocol {
  std::string name;                // registered, or an alias
  Config options = Config::map();  // options not given are those of the recipe's `evaluate.PROTOCOL`
};

struct EvaluationRequest {
  std::string run;              // a run folder or a checkpoint
  std::string which = "last";   // checkpoint of a run folder: last, best or previous
  std::string device = "auto";  // auto, cpu or cuda
  std::vector<RequestedProtocol> protocols = {};
  DataWords data = {};                      // a data set that replaces the run's own
  std::vector<std::string> overrides = {};  // key=value of the recipe, such as data.test.root=DIR or views.eval=...
  std::optional<LabelColumns> labels = {};  // bias labels that replace those of the data sets
  std::string groups = {};  // columns of what belongs together, "patient,burst": of `labels`, or of the data sets' own CSV of labels
  DataChange data_change = DataChange::kRefuse;
  std::optional<CsvCells> predictions = {};  // also writes RUN/evaluation/PROTOCOL.csv with such cells
};

// What evaluated rows belong to: their number, and that of their groups, where each may be its own.
struct EvaluatedGroups {
  int64_t rows = 0, groups = 0;
  std::string from = "none";
};

struct RunEvaluation {
  std::string checkpoint;
  int64_t epoch = 0;
  std::vector<std::pair<std::string, EvaluationResult>> results;  // by registered name, in the requested order
  EvaluatedGroups groups = {};
  std::vector<std::string> notes = {};  // on the data: one line each

  NamedMetrics metrics() const;
};

// Writes RUN/evaluation (protocol_evaluation.h) if the checkpoint is in a run folder. Before anything is written: usage error for unknown
// protocols, options and overrides, protocols that do not read the run's samples, labels for sentences, and outputs that are inputs; data
// error for data that have changed since training, and labels that name no image.
RunEvaluation evaluate_run(const EvaluationRequest& request, Progress& progress, Log& log);

// Protocols on feature tables, and on the folder of `debias fix`.
struct EvaluatedTable {
  std::string embeddings, csv;
  std::vector<std::pair<std::string, EvaluationResult>> results;  // by protocol, in the requested order
  EvaluatedGroups groups = {};
  std::vector<std::string> notes = {};  // on the rows: one line each
};

// `protocols` are registered names. Usage error: a protocol that fits a classifier, on a table of training rows alone.
EvaluatedTable evaluate_table(const FeatureTableFiles& files, const TableRowOptions& columns, const std::vector<std::string>& protocols,
                              const ChosenProtocols& options, Progress& progress, Log& log);

// Evaluates the table of the folder with features corrected by the layer, and with the head as classifier. Data error if the table has
// changed since; under kAccept a warning.
EvaluatedTable evaluate_fixed_folder(const std::string& folder, const std::vector<std::string>& protocols, const ChosenProtocols& options,
                                     DataChange change, Progress& progress, Log& log);

}  // namespace debias
