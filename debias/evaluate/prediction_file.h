// A protocol's predictions as a table that other tools read.
#pragma once

#include <string>
#include <vector>

#include "debias/evaluate/embedding_file.h"
#include "debias/evaluate/protocol.h"

namespace debias {

// CSV, header `split,filenames,labels,biases,predictions`, one line for each image of each evaluated split in its own order; -1 is unknown.
// Filenames as in embedding_file.h. Replaced atomically. Nothing is written, and false returned, when the result has no predictions.
bool write_predictions(const std::string& path, const EvaluationResult& result, const EvaluationInput& input,
                       CsvCells cells = CsvCells::kGuarded);

}  // namespace debias
