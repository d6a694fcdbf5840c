// The names behind the numbers of embedded samples.
#pragma once

#include <optional>
#include <string>

#include "debias/data/dataset.h"
#include "debias/evaluate/embedding_file.h"
#include "debias/evaluate/features.h"

namespace debias {

// F.names.csv for F, F.npy and F.csv (embedding_file.h).
std::string name_path(const std::string& out);

// A CSV `filenames,labels,class,bias,bias_name`, and `group` where the set says groups, a line for each row of the features in their order; unknown numbers are -1, their names
// empty. Atomically. Returns its path, or nothing where the data set has no names, and then nothing is written.
std::optional<std::string> write_names(const std::string& out, const Features& features, const Dataset& dataset,
                                       CsvCells cells = CsvCells::kGuarded);

}  // namespace debias
