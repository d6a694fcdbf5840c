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
  std::function<Image(int64_t row)> image;  // empty where images cannot be opened; thread-safe
};

struct PairSource {
  PairSplit first;
  std::optional<PairSplit> second;  // where leaks are requested
  ViewCosines views;                // of a run
  double temperature = 0.5;         // of its loss
  double tau_plus = 0.1;            // of its objective, where that is a number
  int64_t batch_size = 256;
  double knn_temperature = 0.1;
  std::vector<std::string> inputs;  // files that may not be overwritten
  std::vector<std::string> roots;   // data folders: nothing is written inside

  bool has_images() const { return first.image && (!second || second->image); }  // of all splits
};

// Two names of splits: train, valid or test.
struct SplitPair {
  std::string first = "train", second;
};

// "train:test". A usage error where it is none such.
SplitPair parse_splits(const std::string& text);

// The training split of a run, or the two of `splits`, whose `second` may be empty. Errors as of `debias eval RUN`.
PairSource pairs_of_run(const RunToEmbed& run, const SplitPair& splits, Progress& progress, Log& log);

// Likewise of a table. Without a CSV all rows are of the split train, and have numbers for names; with the label column `none` only the
// names of the CSV are read. Images are the files of the column `path` below `root`, or, where that is empty, below the CSV's folder or the
// current one.
PairSource pairs_of_table(const FeatureTableFiles& files, const TableRowOptions& columns, const std::string& root, const SplitPair& splits,
                          Log& log);

}  // namespace debias
