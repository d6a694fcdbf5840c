// The rows that `debias pairs` searches: those of a run's data sets under its encoder, or of a feature table.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "debias/core/progress.h"
#include "debias/data/row_groups.h"
#include "debias/features/feature_table.h"
#include "debias/image/image.h"
#include "debias/mining/mined_pairs.h"
#include "debias/mining/pair_rows.h"
#include "debias/runs/run_embedding.h"

namespace debias {

struct PairSplit {
  at::Tensor values;  // float32 [n, D] of any norm
  NamedRows rows;
  std::function<Image(int64_t row)> image;  // empty if images cannot be opened; thread-safe
};

struct PairSource {
  PairSplit first;
  std::optional<PairSplit> second;  // if leaks are requested
  std::optional<RowGroups> groups;  // of the rows of both splits, from a column; absent without one
  std::vector<std::string> notes;   // one line each: what was joined, left out or read otherwise
  ViewCosines views;                // of a run
  double temperature = 0.5;         // of its loss
  double tau_plus = 0.1;            // of its objective, if it is a number
  int64_t batch_size = 256;
  double knn_temperature = 0.1;
  std::vector<std::string> inputs;  // files that must not be overwritten
  std::vector<std::string> roots;   // data folders; nothing may be written inside

  int64_t rows() const { return first.values.size(0) + (second ? second->values.size(0) : 0); }
  bool has_images() const { return first.image && (!second || second->image); }  // of all splits
  Image image(int64_t row) const;                                                // counted on into the second split
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
// names and the splits of the CSV are read, and no labels. Images are the files of the column `path` below `root`; if it is empty, below
// the CSV's folder or the current folder. `group`: columns that name what belongs together, all equal; empty: the column `group`, if there
// is one. Usage error for such a column that is absent or has another role.
PairSource pairs_of_table(const FeatureTableFiles& files, const TableRowOptions& columns, const std::string& root, const SplitPair& splits,
                          const std::vector<std::string>& group = {});

// Name, split and class of a row, of the first split or, counted on from there, of the second.
struct RowWords {
  std::string path, split, label;  // the label is empty if unknown
};
RowWords row_words(const PairSource& source, int64_t row);

}  // namespace debias
