// A loaded run with its data opened, ready to be judged or embedded.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/debias/loaded_run.h"
#include "debias/evaluate/protocol.h"
#include "debias/train/recipe.h"

namespace debias {

struct DataWords {
  std::string name;                // --data: replaces the run's data sets
  std::string root;                // --root: where it lies; alone, where the run's own data sets lie now
  std::vector<std::string> words;  // key=value of the data set
};

struct JudgedData {
  Config train, valid, test;  // sections of a recipe's `data:`; null where absent
};

JudgedData data_of(const Recipe& recipe);

// The run's own data sets, from its recipe, or the train and test split of the one that `data` names. A usage error when neither gives a
// test set: a checkpoint outside of a run folder needs `data`.
JudgedData judged_data(const LoadedRun& run, const DataWords& data);

// The section of one split of the data set that `data` names; `split` may be empty.
Config named_section(const DataWords& data, const std::string& split);

// The folders that these data sets are read from: nothing may be written inside.
std::vector<std::string> roots_of(const JudgedData& data);

// Of a resolved recipe, for kNN: that of the first term that has one, 0.5 without any. One that changes over the epochs has no single
// value.
double training_temperature(const Config& resolved_recipe);

// All but the encoder, the classifier and kNN's temperature: the data sets, opened but for `train` where it is given, and the recipe's
// views, seed and workers.
EvaluationInput evaluation_input(const Recipe& recipe, const JudgedData& data, std::shared_ptr<const Dataset> train = nullptr);

// Opens the data sets; views, seed, workers and kNN's temperature are those of the run's recipe.
EvaluationInput open_for_evaluation(const LoadedRun& run, const JudgedData& data);

}  // namespace debias
