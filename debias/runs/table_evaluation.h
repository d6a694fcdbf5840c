// Protocols on feature tables, and on the folder of `debias fix`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "debias/core/progress.h"
#include "debias/evaluate/protocol.h"
#include "debias/features/feature_table.h"
#include "debias/train/state/data_record.h"

namespace debias {

struct EvaluatedTable {
  std::string embeddings, csv;
  std::vector<std::pair<std::string, EvaluationResult>> results;  // by protocol, in the requested order
};

// `protocols` are registered names. Usage error: a protocol that fits a classifier, on a table of training rows alone.
EvaluatedTable evaluate_table(const FeatureTableFiles& files, const TableRowOptions& columns, const std::vector<std::string>& protocols,
                              const ChosenProtocols& options, Progress& progress, Log& log);

// Evaluates the table of the folder with features corrected by the layer, and with the head as classifier. Data error if the table has
// changed since; under kAccept a warning.
EvaluatedTable evaluate_fixed_folder(const std::string& folder, const std::vector<std::string>& protocols, const ChosenProtocols& options,
                                     DataChange change, Progress& progress, Log& log);

}  // namespace debias
