// A run folder as a report reads it: what was run, what training said, what was evaluated.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "debias/core/config.h"
#include "debias/report/metric_title.h"
#include "debias/report/recipe_facts.h"
#include "debias/results/evaluation_record.h"
#include "debias/results/json_file.h"
#include "debias/results/run_files.h"

namespace debias {

// History of the cosines of pairs over the epochs that `geometry` evaluated during training.
struct SimilarityEpoch {
  int64_t epoch = 0;
  std::map<std::string, std::map<std::string, SimilarityHistogram>> similarity;  // by split, then by set of pairs
};

// RUN/evaluation/epoch-N/geometry.json, by epoch; empty where there is none. Data errors name the file.
std::vector<SimilarityEpoch> read_similarity_history(const std::string& folder);

// The cosine below which a share in [0, 1] of the pairs is, even within a bin; NaN without pairs.
double cosine_quantile(const SimilarityHistogram& histogram, double share);

struct Curve {
  std::vector<double> x, y;  // NaN in y where a line has null
};

// The lines of metrics.jsonl by metric.
struct MetricHistory {
  std::vector<std::string> names;         // in order of appearance
  std::map<std::string, Curve> by_epoch;  // from epoch lines, x the epoch
  std::map<std::string, Curve> by_step;   // from step lines, x the step

  double last_of_epochs(const std::string& name) const;  // NaN where there is none
};

struct RunRecord {
  std::string path;   // as given
  std::string label;  // short, and not that of another run of the same report
  std::string config_text;
  Config config;                             // to be shown and compared key by key
  RecipeFacts recipe;                        // what it says
  Json environment = Json::object();         // empty where there is no environment.json
  Json data_sets = Json::object();           // of data/sets.json, likewise
  std::vector<std::string> classes, biases;  // of classes.json; empty where there is none
  TrainingSpeed speed;
  int64_t epochs_done = 0;
  MetricHistory history;
  std::vector<EvaluationRecord> evaluations;
  std::vector<SimilarityEpoch> similarities;   // while training
  std::optional<VideoRecord> video;            // of an agent
  std::vector<std::string> notes;              // faults that are not errors
  std::shared_ptr<const MetricTitles> titles;  // of this program

  bool finished() const { return is_fixed() || (recipe.epochs > 0 && epochs_done >= recipe.epochs); }
  bool is_fixed() const { return recipe.is_fixed; }  // features that debias fix has corrected: no training
  // As a person reads it: the files of corrected features without valid and test rows call the folds of the training rows `valid`.
  std::string shown_split(const std::string& split) const;
  // It learnt from rewards, or from sentences: nothing has classes or bias labels. All others are of images.
  bool of_agent() const { return recipe.of_agent; }
  bool of_text() const;
  bool of_images() const { return !of_agent() && !of_text(); }
  // Bias labels of the evaluated images: without them nothing can be evaluated by group.
  bool has_bias_values() const;
  const std::string& seed() const { return recipe.seed; }
  std::string of_environment(const char* key) const;  // "" where there is none
  // On the run's own data, or on another data set; null where there is none.
  const EvaluationRecord* evaluation(const std::string& protocol, const std::string& data = "") const;
};

// The program that reads: a run by another version gets a note.
struct ReadingProgram {
  std::string version;
  std::shared_ptr<const MetricTitles> titles;
};

// Data errors: no folder, no config.yaml, a config.yaml that
// is not YAML, damaged JSON; all name the path. The last line of metrics.jsonl may be incomplete (it is being written): it is left out.
RunRecord read_run(const std::string& path, const ReadingProgram& program);

// The same for several, with labels. Usage error: one folder twice.
std::vector<RunRecord> read_runs(const std::vector<std::string>& paths, const ReadingProgram& program);

// The last parts of each path, as many as make all of them distinct.
std::vector<std::string> distinct_labels(const std::vector<std::string>& paths);

// Without a seed that all have, and with the last word of the keys that a sweep's folders are named by, as long as they stay distinct:
// "ce/correlation=0.99" of "ce/data.train.correlation=0.99/seed-1".
std::vector<std::string> short_labels(const std::vector<std::string>& labels);

}  // namespace debias
