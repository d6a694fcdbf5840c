// Pseudo bias labels: clusters of what a bias model makes of images, as a CSV of labels (`debias embed RUN --bias-values OUT.csv`).
//
// The clusters are those of the normalised features of the training images (k_means.h), as many as there are classes unless requested
// otherwise, and called after the classes that they go with (cluster_names.h). Images of the other sets of the run get the value of the
// nearest centre.
//
//   const BiasValueTable table = write_bias_values({.run = "runs/early", .out = "bias.csv"}, Progress::silent(), Log::silent());
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "debias/core/progress.h"
#include "debias/runs/embedded_layer.h"
#include "debias/runs/judged_run.h"

namespace debias {

struct BiasValueRequest {
  std::string run;              // a run folder: its values are of no use for other data than its own
  std::string out;              // a .csv file
  std::string root = "";        // where its data lie now; empty: where they lay
  std::string which = "last";   // checkpoint: last, best or previous
  std::string device = "auto";  // auto, cpu or cuda
  Layer layer = Layer::kEncoder;
  std::optional<int64_t> values = {};  // how many; none: one for each class
  DataChange data_change = DataChange::kRefuse;
};

struct BiasValueTable {
  int64_t rows = 0;
  std::vector<std::string> names;  // of the values
  std::vector<int64_t> images;     // training images with each value
  double aligned = 0;              // share of the training images that have the most frequent value of their class
  std::string folder;              // of the images, where the data set is a folder of images; else empty
};

// Writes the CSV, columns path, label, bias and confidence (NearestCentre::clarity), a row for each image of the run's training, validation
// and test sets and, of a folder of images, of its test and validation folders and of those held out. An image that cannot be read has no
// bias label. Usage errors of options; data errors of the sets.
BiasValueTable write_bias_values(const BiasValueRequest& request, Progress& progress, Log& log);

}  // namespace debias
