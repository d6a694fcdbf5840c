// Embeds a data set by a run's encoder, as `debias embed` does.
//
//   const RunEmbedding made = embed_run({.run = "runs/first", .out = "z.npy"}, Progress::silent(), Log::silent());
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "debias/core/progress.h"
#include "debias/evaluate/embedding_file.h"
#include "debias/runs/bias_features.h"
#include "debias/runs/embedded_layer.h"
#include "debias/runs/evaluated_data.h"

namespace debias {

struct EmbeddingRequest {
  std::string run;              // a run folder or a checkpoint
  std::string out;              // F, F.npy or F.csv (embedding_file.h)
  std::string which = "last";   // checkpoint of a run folder: last, best or previous
  std::string device = "auto";  // auto, cpu or cuda
  Layer layer = Layer::kEncoder;
  // The data set to embed; without a name, the run's own. Overrides that begin with views., data. or evaluate. change the recipe; the
  // others are options of the data set.
  DataWords data = {};
  CsvCells cells = CsvCells::kGuarded;
  DataChange data_change = DataChange::kRefuse;
  OnError on_error = OnError::kStop;  // kSubstitute: an image that cannot be read has no row
};

struct RunEmbedding {
  int64_t rows = 0, dimensions = 0;
  std::vector<std::string> files;    // files that were written
  std::optional<std::string> names;  // file of class names, if the data set has any
  std::vector<std::string> skipped;  // unreadable images, which have no row
};

// Warns of unreadable images, which have no row; nothing for none.
void warn_of_skipped(const std::vector<std::string>& images, Log& log);

// Embeds the run's test set, or the data set that the request names. Usage errors, before anything is read: an output that is an input or
// is inside a data folder, a run on sentences. Data error: data that have changed since training, unless accepted.
RunEmbedding embed_run(const EmbeddingRequest& request, Progress& progress, Log& log);

// Embeds the training set with row = sample id, for `bias_features` of an objective (bias_features.h). Errors as above.
BiasFeatureFile embed_bias_features(const EmbeddingRequest& request, Progress& progress, Log& log);

}  // namespace debias
