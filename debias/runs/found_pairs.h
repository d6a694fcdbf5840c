// Finds false negatives, duplicates and leaks among the rows of a pair source, as `debias pairs` does.
//
//   const PairSource source = pairs_of_table(FeatureTableFiles{.vectors = "z.npy"}, {}, "", {}, log);
//   const PairRequest request{.top = 100};
//   const FoundPairs found = find_pairs(request, mining_options(request, source), source, progress, log);
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "debias/core/progress.h"
#include "debias/features/feature_table.h"
#include "debias/image/image.h"
#include "debias/mining/mined_pairs.h"
#include "debias/mining/pair_rows.h"
#include "debias/runs/run_embedding.h"

namespace debias {

// The rows that `debias pairs` searches: those of a run's data sets under its encoder, or of a feature table.
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

struct PairRequest {
  int64_t top = 500;  // maximum number of false negatives, the first by `rank`
  PairRank rank = PairRank::kSimilarity;
  uint64_t seed = 1;
  std::optional<int64_t> sample{};                  // number of random pairs to return instead
  std::optional<double> temperature{}, tau_plus{};  // absent: as in the source
};

// Rows of one image, of both splits: the copies that a chain of confirmed pairs joins.
struct CopiedImage {
  std::vector<int64_t> rows;     // of the first split, then of the second, counted on from the first's
  bool labels_conflict = false;  // two of its known labels differ
};

struct FoundPairs {
  std::vector<PairRow> rows;
  std::optional<SplitLeaks> leaks;
  MiningOptions options;
  bool by_views = false, on_pixels = false;
  double threshold = 0;               // minimum cosine of candidates for copies
  int64_t searched = 0;               // rows
  std::vector<CopiedImage> copies;    // of two rows or more: conflicts of labels first, then the larger ones
  std::vector<int64_t> image_of_row;  // of both splits: the first row of the same image; empty of a sample
  std::vector<std::string> notes;
};

// Usage errors as for MiningOptions::check().
MiningOptions mining_options(const PairRequest& request, const PairSource& source);

// The pairs: false negatives first, then duplicates and leaks; or the random sample. Duplicates and leaks are confirmed on pixels if the
// source has images. Data error: fewer than two rows, or a row that is not finite.
FoundPairs find_pairs(const PairRequest& request, const MiningOptions& options, const PairSource& source, Progress& progress, Log& log);

// `source` names the rows of the copies.
nlohmann::ordered_json to_json(const FoundPairs& found, const PairSource& source);

// `path,group` and, of two splits, `split`: every row, with a number for each image.
std::string groups_csv(const FoundPairs& found, const PairSource& source);

// Name, split and class of a row of CopiedImage.
struct RowWords {
  std::string path, split, label;  // the label is empty if unknown
};
RowWords row_words(const PairSource& source, int64_t row);

// The page for marking the pairs (pair_rows.h), with thumbnails of the readable images. `name` is the name of the source.
std::string marking_page(const FoundPairs& found, const PairSource& source, const std::string& name);

}  // namespace debias
