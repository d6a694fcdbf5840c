// The rows that `debias pairs` searches: those of a run's data sets under its encoder, or of a feature table.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "debias/core/progress.h"
#include "debias/features/feature_table.h"
#include "debias/image/image.h"
#include "debias/mining/mined_pairs.h"
#include "debias/mining/pair_rows.h"
#include "debias/runs/embedded_table.h"

namespace debias {

struct PairSplit {
  at::Tensor values;  // float32 [n, D] of any norm
  NamedRows rows;
  std::function<Image(int64_t row)> image;  // empty if images cannot be opened; thread-safe
};

struct PairSource {
  PairSplit first;
  std::optional<PairSplit> second;  // if leaks are requested
  ViewCosines views;                // of a run
  double temperature = 0.5;         // of its loss
  double tau_plus = 0.1;            // of its objective, if it is a number
  int64_t batch_size = 256;
  double knn_temperature = 0.1;
  std::vector<std::string> inputs;  // files that must not be overwritten
  std::vector<std::string> roots;   // data folders; nothing may be written inside

  bool has_images() const { return first.image && (!second || second->image); }  // of all splits
};

// The names of two splits: train, valid or test.
struct SplitPair {
  std::string first = "train", second;
};

// Parses "train:test". Usage error for anything else.
SplitPair parse_splits(const std::string& text);

// The training split of a run, or the two of `splits`, whose `second` may be empty. Errors as for `debias eval RUN`.
PairSource pairs_of_run(const RunToEmbed& run, const SplitPair& splits, Progress& progress, Log& log);

// The same for a table. Without a CSV all rows are in the split train, and their names are numbers. With the label column `none` the
// names and the splits of the CSV are read, and no labels. Images are the files of the column `path` below `root`; if it is empty, below the CSV's folder or the current
// folder.
PairSource pairs_of_table(const FeatureTableFiles& files, const TableRowOptions& columns, const std::string& root, const SplitPair& splits,
                          Log& log);

}  // namespace debias
