// A loaded run with its data opened, ready to be judged.
#pragma once

#include <string>
#include <vector>

#include "apps/debias/loaded_run.h"
#include "debias/evaluate/protocol.h"

namespace debias {

struct DataWords {
  std::string name;                // --data: replaces the run's data sets
  std::string root;                // --root
  std::vector<std::string> words;  // key=value of the data set
};

// The section of one split of the data set asked for by --data.
Config data_section(const DataWords& data, const std::string& split);

// Opens train, valid and test of the run's recipe, or of `data` where it names one. Usage errors when neither gives a test set.
EvaluationInput open_for_evaluation(const LoadedRun& run, const DataWords& data);

}  // namespace debias
