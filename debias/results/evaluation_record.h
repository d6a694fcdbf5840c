// Record of a protocol's results: protocols return it, `debias eval` writes it into a run folder
// (RUN/evaluation/PROTOCOL.json, and PROTOCOL-NAME.json for another data set than the run's own), and a report reads it. The keys of the
// file are known here alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "debias/results/json_file.h"
#include "debias/results/predictions.h"

namespace debias {

// Tasks that an encoder is evaluated by beside its own data, each on texts of its own, as a record's file has them: their findings are among
// its options and counts, by task.
struct EvaluatedTask {
  std::string name;                // before its metrics' names: "mr" of "mr_acc"
  int64_t evaluated = 0;           // texts, or pairs of them
  std::vector<double> C = {};      // inverse strengths of regularisation, as they were chosen
  double majority = kNotKnown;     // accuracy of always saying the commonest class
  int64_t unknown = 0, texts = 0;  // texts without a word that the encoder knows, among all
  std::string digest = {};         // SHA-256 of texts and labels; empty where the file does not say

  bool has(const std::string& metric) const { return metric.starts_with(name + "_"); }
};

void add_tasks(const std::vector<EvaluatedTask>& tasks, Json& record);

// Takes them from a record's file and removes their findings from its options. Values of an unexpected form count as absent.
std::vector<EvaluatedTask> take_tasks(const Json& record, Json& options);

// Bias-aligned images of a group table (their bias label belongs to their class), and others.
struct AlignedCounts {
  int64_t aligned = 0, conflicting = 0;
};

struct SimilarityHistogram {
  int64_t pairs = 0;
  double mean = 0, std = 0;        // NaN without pairs
  std::vector<int64_t> histogram;  // equal bins over [-1, 1]
};

struct FeatureMap {
  std::vector<int64_t> ids;  // of the images
  std::vector<std::pair<double, double>> points;
  std::vector<int64_t> labels, biases;  // biases: empty where none is known
  double kl = 0, perplexity = 0;
};

constexpr int64_t kUnknownValue = -1;  // of a label or bias

struct NeighbourImage {
  int64_t id = 0, label = kUnknownValue, bias = kUnknownValue;
  double cosine = 0;
};
struct NeighbourQuery {
  NeighbourImage image;
  int64_t predicted = kUnknownValue;
  std::vector<NeighbourImage> nearest;  // training images, nearest first
};

// An evaluated image that is shown beside what was predicted for it.
struct ExampleImage {
  int64_t id = 0;
  bool aligned = false;  // else conflicting
  std::string label, bias, predicted;
};

// Which bias labels are aligned with which class, and how that was decided (debias/evaluate/alignment.h).
using BiasesOfClass = std::vector<std::pair<std::string, std::vector<std::string>>>;
struct AlignedValues {
  BiasesOfClass biases_of_class;        // by names
  std::string by = "none";              // majority, label, recipe or none
  double share = kNotKnown;             // of training images of known class and bias label that are aligned
  double share_by_chance = kNotKnown;   // what it would be if class and bias label were independent
  std::vector<std::string> notes = {};  // one line each, without the protocol's name; read back among the record's
};

// Result of one clustering: the mean over cells of class and cluster, and their number.
struct ClusteringAccuracy {
  double accuracy = 0;
  int64_t cells = 0;
};

struct BiasProbeFit {
  int64_t values = 0;  // of the bias
  bool converged = true;
  int64_t iterations = 0;
  double gradient = 0, objective = 0;
};

// Training of a linear probe.
struct TrainedProbe {
  double loss = 0;
  std::optional<int64_t> epochs = {}, best_epoch = {};  // trained until the loss stalled; chosen among all
  std::string selected_on = {};                         // the split that chose the epoch
};

// A CSV whose bias labels were added to the data after training.
struct AddedBiasValues {
  std::string file, column;
  std::string digest;                      // SHA-256 of the file's bytes
  std::map<std::string, int64_t> unknown;  // images without a value, by split
};

struct EvaluationRecord {
  std::string protocol;                                 // "knn"
  std::vector<std::pair<std::string, double>> metrics;  // in the file's order; NaN: undefined
  Json options = Json::object();
  int64_t class_count = 0;
  std::vector<std::pair<std::string, int64_t>> counts;             // samples by split
  std::vector<std::pair<std::string, int64_t>> group_counts = {};  // groups by split, where something says which samples belong together
  std::string groups_from = "none";                                // "column patient"
  std::map<std::string, std::vector<int64_t>> group_of = {};       // by split, where samples belong together; -1: alone
  std::string predictions;               // whose are evaluated: "knn", "linear", "classifier"; empty where the file does not say
  std::optional<AlignedValues> aligned;  // none: the file does not say
  std::vector<std::pair<std::string, double>> side_metrics;  // of kNN beside a classifier, whose own are among the metrics
  std::map<std::string, std::pair<double, double>> intervals;
  std::vector<EvaluatedTask> tasks;          // of protocols whose metrics are of tasks, not of splits
  std::map<std::string, GroupTable> groups;  // by split, like the following
  std::map<std::string, ClassTable> classes;
  std::map<std::string, std::string> marks;  // right or wrong by image (predictions.h); empty in files of older versions
  std::map<std::string, std::vector<ExampleImage>> examples;
  std::map<std::string, std::map<std::string, SimilarityHistogram>> similarity;  // then by set of pairs
  std::map<std::string, FeatureMap> maps;
  std::map<std::string, std::vector<NeighbourQuery>> neighbours;
  std::map<std::string, std::vector<std::pair<std::string, ClusteringAccuracy>>> clusterings;  // then by clustering, in the requested order
  std::optional<BiasProbeFit> bias_probe;
  std::optional<TrainedProbe> trained_probe;
  std::vector<std::pair<std::string, int64_t>> anchors;  // compared, by split (macro_auc)
  std::vector<std::pair<std::string, int64_t>> queries;  // with an image of their class in the gallery, by split (retrieval)
  std::vector<std::pair<std::string, int64_t>> drawn;    // training images of a draw, by setting: "1pct" (low_shot)
  // Values of a metric that is a mean over draws of training images; its interval is over them, not over evaluated images.
  std::map<std::string, std::vector<double>> by_draw;
  std::optional<std::vector<std::string>> notes;  // what was left out, and why; none: the protocol has nothing to say

  // Origin of the record, known for files only.
  std::string checkpoint;
  int64_t epoch = -1;                          // of that checkpoint; -1: the file does not say
  Json evaluated = Json::object();             // sections of the data, by split
  std::vector<std::string> accepted_changes;   // of the data since training
  std::optional<AddedBiasValues> bias_values;  // none: those of the data themselves
  // Recipe settings that evaluation changed from training, by key; none: the setting was removed. Data are in `evaluated`.
  std::map<std::string, std::optional<std::string>> recipe_changes;
  std::string path;  // of the file
  std::string data;  // the other data set's name; empty for the run's own

  const double* metric(const std::string& name) const;  // null where there is none
  bool has_option(const std::string& name, const Json& value) const;
  double interval_level() const;  // the share of intervals that hold the true value; NaN where the options do not say
  bool evaluates_predictions_of(const std::string& another) const;  // another protocol: kNN or a probe, whose options are not among these
  bool is_of_groups() const { return protocol == "groups"; }        // before others that have some of its numbers
  bool is_of_tasks() const;                                         // its metrics have tasks in front of their names, not splits
  const EvaluatedTask* task(const std::string& name) const;         // null where there is none
  // True if a bias label is aligned with a label, by numbers in the table: from the file's map or, in files without one, if both have one
  // number. None if no bias label is aligned with the label.
  std::optional<bool> is_aligned(const GroupTable& table, size_t label, size_t bias) const;
  std::optional<AlignedCounts> aligned_counts(const std::string& split) const;  // none without a group table of the split
  int64_t groups_of(const std::string& split) const;  // in which samples belong together; 0: none do, or nothing says so
  // By which the number of samples is divided for an interval (predictions.h): 1 without groups, and where the file does not say which
  // samples belong together, the mean number in a group.
  double design_effect(const std::string& split, MarkedImages images) const;
};

// The file's text is its dump(2). Parts that the record does not have are left out.
Json to_json(const EvaluationRecord& record);

// Every *.json of FOLDER, by file name; empty where there is no such folder. Keys that are absent stay empty, unknown ones are ignored:
// other versions wrote them. Data errors name the file.
std::vector<EvaluationRecord> read_evaluations(const std::string& folder);

EvaluationRecord read_evaluation(const std::string& path);  // one file

}  // namespace debias
