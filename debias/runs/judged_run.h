// A loaded run with its data opened, ready to be evaluated or embedded.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/progress.h"
#include "debias/data/readers/added_biases.h"
#include "debias/evaluate/protocol.h"
#include "debias/results/evaluation_record.h"
#include "debias/runs/loaded_run.h"
#include "debias/train/recipe/recipe.h"

namespace debias {

struct DataWords {
  std::string name;                // --data: replaces the run's data sets
  std::string root;                // --root: its folder; alone, the current folder of the run's own data sets
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

// Temperature of a resolved recipe, for kNN: that of the first term that has one, else 0.5. One that changes over the epochs has no single
// value.
double training_temperature(const Config& resolved_recipe);

// `evaluate.PROTOCOL` of a recipe, by the protocols' registered names.
Config protocol_options(const Recipe& recipe);

// Opens data sets, says what their readers left out, and remembers what they are.
class DataWatch {
 public:
  DataWatch(Verify verify, Progress& progress, Log& log) : verify_(verify), progress_(progress), log_(log) {}
  std::shared_ptr<const Dataset> open(const std::string& split, const Config& section);  // usage error where samples are not images
  std::shared_ptr<const SampleTable> open_samples(const std::string& split, const Config& section);
  const DataRecord& record() const { return record_; }
  Progress& progress() const { return progress_; }

  // Data sets that are opened from here on have these bias labels in place of their own; what they are without them is remembered.
  void add_biases(AddedBiases biases) { biases_ = std::move(biases); }
  std::optional<AddedBiasValues> added_bias_values() const;  // of the sets opened so far
  std::vector<std::string> notes() const { return notes_; }  // one line each: which images have no bias label

 private:
  void watch(const std::string& split, const Config& section, const SampleTable& samples);
  std::shared_ptr<const Dataset> with_biases(const std::string& split, const Config& section, std::shared_ptr<const Dataset> dataset);

  Verify verify_;
  Progress& progress_;
  Log& log_;
  std::set<std::string> said_;
  DataRecord record_;
  std::optional<AddedBiases> biases_;
  std::map<std::string, int64_t> unknown_;  // images without a bias label, by split
  std::vector<std::string> notes_;
};

// All but the encoder, the classifier and kNN's temperature: the data sets, opened but for `train` where it is given, and the recipe's
// views, seed and workers. Classes and bias labels of every set are numbered as in `names` (those of `train` where it has none); `log`
// hears what was left out.
EvaluationInput evaluation_input(const Recipe& recipe, const JudgedData& data, const NameTable& names, DataWatch& watch, Log& log,
                                 std::shared_ptr<const Dataset> train = nullptr);

// Opens the data sets; views, seed, workers and kNN's temperature are those of the run's recipe. If `train` has other classes
// altogether than the run's, all sets are numbered as in `train`, and the run's classifier, which does not know them, is left out.
EvaluationInput open_for_evaluation(const LoadedRun& run, const JudgedData& data, DataWatch& watch, Log& log);

// `dataset` numbered as in the run; as it is where all of its classes are others.
std::shared_ptr<const Dataset> in_numbers_of(const LoadedRun& run, std::shared_ptr<const Dataset> dataset, Log& log);

// That the run's own data sets are what they were in training (compare_data), but for those that a word such as `data.test.root=DIR`
// replaces. Returns what was accepted.
std::vector<std::string> require_unchanged(const LoadedRun& run, const DataWatch& watch, const std::vector<std::string>& words,
                                           DataChange change, Log& log);

}  // namespace debias
