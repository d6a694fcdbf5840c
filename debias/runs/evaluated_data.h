// A loaded run with its data sets opened, ready for evaluation or embedding.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/progress.h"
#include "debias/data/name_table.h"
#include "debias/data/readers/added_biases.h"
#include "debias/data/sample_table.h"
#include "debias/encoders/encoder.h"
#include "debias/evaluate/protocol.h"
#include "debias/results/evaluation_record.h"
#include "debias/train/methods/model.h"
#include "debias/train/recipe/recipe.h"
#include "debias/train/state/training_state.h"

namespace debias {

// A run folder or a lone checkpoint, opened for evaluation or embedding.
struct LoadedRun {
  std::string folder;      // the run folder; empty for a lone checkpoint
  std::string checkpoint;  // path of the file with the weights
  Config recipe;           // the resolved recipe: data, views, encoder, head, objective, ...
  std::shared_ptr<Encoder> encoder;
  std::shared_ptr<Head> head;
  bool has_head = true;                    // false: its output is the encoder's
  std::shared_ptr<Classifier> classifier;  // null if the run has none
  std::optional<NameTable> names;          // of its training set; absent in older checkpoints
  DataRecord data;                         // fingerprints of its data sets; empty in older checkpoints
  int64_t channels = 3;                    // of its images; 0 for sentences
  int64_t words = 0;                       // size of its vocabulary, for sentences
  uint64_t seed = 1;
  int64_t epoch = 0;  // number of finished epochs

  SampleKind samples() const { return words > 0 ? SampleKind::kSentences : SampleKind::kImages; }  // that it reads
};

// `path` is a run folder, of which the checkpoint `which` is loaded (last, best or previous), or a .safetensors file. The recipe is
// config.yaml of the run folder that contains the file, or the one in the file's metadata. Data errors name the path.
LoadedRun load_run(const std::string& path, const std::string& which = "last");

// Usage error for a run on sentences.
void require_image_run(const LoadedRun& run);

// Files of the run, the checkpoint first, without evaluations and exports.
std::vector<std::string> run_files(const LoadedRun& run);

struct DataWords {
  std::string name;                // --data: replaces the run's data sets
  std::string root;                // --root: its folder; without --data, the current folder of the run's own data sets
  std::vector<std::string> words;  // key=value of the data set
};

struct EvaluatedData {
  ChosenData train;
  std::optional<ChosenData> valid = {}, test = {};

  std::vector<std::pair<std::string, const ChosenData*>> sets() const;  // by split, `train` first
  EvaluatedData below(const std::string& root) const;                   // all of them in this folder; as they are where it is empty
};

EvaluatedData data_of(const Recipe& recipe);

// The run's own data sets, from its recipe, or the train and test split of the data set that `data` names. Usage error if neither gives a
// test set: a checkpoint outside a run folder needs `data`. A run on sentences takes what `data` names as its test set, whole unless `data`
// says `split`; of its own sets the valid set is enough.
EvaluatedData evaluated_data(const LoadedRun& run, const DataWords& data);

// One split of the data set that `data` names, with pixels as the run's training images have them; `split` may be empty.
ChosenData named_data(const LoadedRun& run, const DataWords& data, const std::string& split);

// Writes into the recipe's data what its training images decide about pixels (settled_pixels.h), so that everything made from it agrees.
// `known` keeps it by the section, for recipes that share one.
using SettledData = std::map<std::string, ChosenData>;
void settle_pixels(Recipe& recipe, SettledData& known);

// The folders of these data sets. Nothing may be written inside.
std::vector<std::string> roots_of(const EvaluatedData& data);

// The temperature of a resolved recipe, for kNN: that of the first term that has one, else 0.5. A temperature under a schedule does not
// count, because it has no single value.
double training_temperature(const Config& resolved_recipe);

// Opens data sets, logs what their readers left out, and records their fingerprints.
class DataWatch {
 public:
  DataWatch(Verify verify, Progress& progress, Log& log) : verify_(verify), progress_(progress), log_(log) {}
  std::shared_ptr<const Dataset> open(const std::string& split, const ChosenData& data);  // usage error if samples are not images
  std::shared_ptr<const SampleTable> open_samples(const std::string& split, const ChosenData& data);
  const DataRecord& record() const { return record_; }
  Progress& progress() const { return progress_; }

  // Data sets opened after this call have these bias labels in place of their own. Their records describe them without these labels.
  void add_biases(AddedBiases biases) { biases_ = std::move(biases); }
  // Data sets opened after this call are in groups by these columns ("patient" or "patient,burst"), of the CSV of add_biases() or else of
  // their own labels. Usage error at open() for a data set without such a CSV.
  void add_groups(std::string columns) { group_columns_ = std::move(columns); }
  std::optional<AddedBiasValues> added_bias_values() const;  // of the sets opened so far
  std::vector<std::string> notes() const { return notes_; }  // one line each: images without a bias label

 private:
  void watch(const std::string& split, const ChosenData& data, const SampleTable& samples);
  std::shared_ptr<const Dataset> with_biases(const std::string& split, const ChosenData& data, std::shared_ptr<const Dataset> dataset);
  std::shared_ptr<const Dataset> with_groups(const std::string& split, const ChosenData& data, std::shared_ptr<const Dataset> dataset);

  Verify verify_;
  Progress& progress_;
  Log& log_;
  std::set<std::string> said_;
  DataRecord record_;
  std::optional<AddedBiases> biases_;
  std::string group_columns_;
  std::map<std::string, int64_t> unknown_;  // images without a bias label, by split
  std::vector<std::string> notes_;
};

// The input of protocols without encoder, classifier and kNN's temperature: the data sets, opened unless `train` is given, and the recipe's
// views, seed and workers. Classes and bias labels of all sets are numbered as in `names`, or as in `train` if it is empty. `log` gets the
// notes on what was left out.
EvaluationInput evaluation_input(const Recipe& recipe, const EvaluatedData& data, const NameTable& names, DataWatch& watch, Log& log,
                                 std::shared_ptr<const Dataset> train = nullptr);

// Opens the data sets; views, seed, workers and kNN's temperature are those of the run's recipe. If `train` has no class in common with the
// run, all sets are numbered as in `train`, and the run's classifier is left out.
EvaluationInput open_for_evaluation(const LoadedRun& run, const EvaluatedData& data, DataWatch& watch, Log& log);

// `dataset` with classes numbered as in the run; unchanged if it has no class in common with it.
std::shared_ptr<const Dataset> in_numbers_of(const LoadedRun& run, std::shared_ptr<const Dataset> dataset, Log& log);

// Checks that the run's own data sets are unchanged since training (compare_data), except those that an override such as
// `data.test.root=DIR` replaces. Returns the accepted changes.
std::vector<std::string> require_unchanged(const LoadedRun& run, const DataWatch& watch, const std::vector<std::string>& words,
                                           DataChange change, Log& log);

}  // namespace debias
