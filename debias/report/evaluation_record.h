// What `debias eval` left in a run folder: RUN/evaluation/PROTOCOL.json, and PROTOCOL-NAME.json for another data set than the run's own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "debias/report/group_record.h"
#include "debias/report/json_file.h"

namespace debias {

// Images of a group table whose bias value goes with their class, and others.
struct AlignedCounts {
  int64_t aligned = 0, conflicting = 0;
};

struct SimilarityHistogram {
  int64_t pairs = 0;
  double mean = 0, std = 0;        // NaN without pairs
  std::vector<int64_t> histogram;  // equal bins over [-1, 1]
};

struct FeatureMap {
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

struct EvaluationRecord {
  std::string path;      // of the file
  std::string protocol;  // "knn"
  std::string data;      // the other data set's name; empty for the run's own
  std::string checkpoint;
  int64_t epoch = -1;            // of that checkpoint; -1: the file does not say
  Json judged = Json::object();  // sections of the data, by split
  Json options = Json::object();
  std::string predictions;  // whose are judged: "knn", "linear", "classifier"; empty where the file does not say
  std::optional<std::map<std::string, std::vector<std::string>>> aligned;  // bias values by class; none: the file does not say
  std::vector<std::pair<std::string, double>> metrics;                     // in the file's order; NaN: undefined
  std::map<std::string, std::pair<double, double>> intervals;
  std::vector<std::string> notes;
  bool probe_has_converged = true;           // the bias probe; false where the file says so
  std::map<std::string, GroupTable> groups;  // by split, like the following
  std::map<std::string, ClassTable> classes;
  std::map<std::string, std::map<std::string, SimilarityHistogram>> similarity;  // then by set of pairs
  std::map<std::string, FeatureMap> maps;
  std::map<std::string, std::vector<NeighbourQuery>> neighbours;

  const double* metric(const std::string& name) const;  // null where there is none
  // Whether a bias value goes with a label, by numbers in the table: from the file's map or, in files without one, where the two have one
  // number. None where no bias value goes with the label.
  std::optional<bool> is_aligned(const GroupTable& table, size_t label, size_t bias) const;
  std::optional<AlignedCounts> aligned_counts(const std::string& split) const;  // none without a group table of the split
};

// Every *.json of FOLDER, by file name; empty where there is no such folder. Keys that are absent stay empty, unknown ones are passed over:
// other versions wrote them. Data errors name the file.
std::vector<EvaluationRecord> read_evaluations(const std::string& folder);

EvaluationRecord read_evaluation(const std::string& path);  // one file

}  // namespace debias
