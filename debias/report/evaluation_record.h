// What `debias eval` left in a run folder: RUN/evaluation/PROTOCOL.json, and PROTOCOL-NAME.json for another data set than the run's own.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "debias/report/json_file.h"

namespace debias {

struct GroupTable {
  std::vector<std::string> labels, biases;
  std::vector<std::vector<int64_t>> count;    // [label][bias]
  std::vector<std::vector<double>> accuracy;  // the same; NaN in an empty group
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
  std::vector<std::pair<std::string, double>> metrics;  // in the file's order; NaN: undefined
  std::map<std::string, std::pair<double, double>> intervals;
  std::vector<std::string> notes;
  std::map<std::string, GroupTable> groups;                                      // by split, like the following
  std::map<std::string, std::map<std::string, SimilarityHistogram>> similarity;  // then by set of pairs
  std::map<std::string, FeatureMap> maps;
  std::map<std::string, std::vector<NeighbourQuery>> neighbours;

  const double* metric(const std::string& name) const;  // null where there is none
};

// Every *.json of FOLDER, by file name; empty where there is no such folder. Keys that are absent stay empty, unknown ones are passed over:
// other versions wrote them. Data errors name the file.
std::vector<EvaluationRecord> read_evaluations(const std::string& folder);

}  // namespace debias
