// Protocols on feature tables, and on what `debias fix` made of one.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/progress.h"
#include "debias/evaluate/protocol.h"
#include "debias/features/feature_table.h"

namespace debias {

struct EvaluatedTable {
  std::string embeddings, csv;
  std::vector<std::pair<std::string, EvaluationResult>> results;  // by protocol, in the requested order
};

// `protocols`: registered names; `options`: theirs, by those names. Usage error: a table of training rows alone and a protocol that fits a
// classifier to them.
EvaluatedTable evaluate_table(const FeatureTableFiles& files, const TableRowOptions& columns, const std::vector<std::string>& protocols,
                              const Config& options, Progress& progress, Log& log);

// The table that the folder was made of, its features corrected by the layer; the head is the run's classifier.
EvaluatedTable evaluate_fixed_folder(const std::string& folder, const std::vector<std::string>& protocols, const Config& options,
                                     Progress& progress, Log& log);

}  // namespace debias
