// Pseudo bias labels: clusters of a bias model's features, as a CSV of labels (`debias embed RUN --bias-values OUT.csv`).
//
// k-means (clusters.h) clusters the normalised features of the training images, by default into as many clusters as there are classes.
// A cluster is named after the class that it correlates with. Images of the run's other sets get the value of the nearest
// centre.
//
//   const BiasValueTable table = write_bias_values({.run = "runs/early", .out = "bias.csv"}, Progress::silent(), Log::silent());
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "debias/core/progress.h"
#include "debias/runs/evaluated_data.h"
#include "debias/runs/run_embedding.h"

namespace debias {

struct BiasValueRequest {
  std::string run;              // a run folder; the values are valid for its own data only
  std::string out;              // a .csv file
  std::string root = "";        // current folder of its data; empty: as in training
  std::string which = "last";   // checkpoint: last, best or previous
  std::string device = "auto";  // auto, cpu or cuda
  Layer layer = Layer::kEncoder;
  std::optional<int64_t> values = {};  // number of clusters; none: one per class
  DataChange data_change = DataChange::kRefuse;
};

struct BiasValueTable {
  int64_t rows = 0;
  std::vector<std::string> names;  // of the values
  std::vector<int64_t> images;     // training images with each value
  double aligned = 0;              // share of the training images with the most frequent value of their class
  std::string folder;              // of the images, if the data set is a folder of images; else empty
};

// Writes a CSV with the columns path, label, bias and confidence (NearestCentre::clarity). It has a row for each image of the run's
// training, validation and test sets; for a folder of images also of its test and validation folders and of held-out images. An unreadable
// image has no bias label. Usage errors of options; data errors of the sets.
BiasValueTable write_bias_values(const BiasValueRequest& request, Progress& progress, Log& log);

// {"file", "rows", "values", "images", "aligned_share", "next"}, and as lines for a person. `out`: the CSV. The next command is debias init,
// for a folder of images.
nlohmann::ordered_json to_json(const BiasValueTable& table, const std::string& out);
std::string bias_values_text(const BiasValueTable& table, const std::string& out);

}  // namespace debias
