// Finds false negatives, duplicates and leaks among the rows of a pair source, as `debias pairs` does.
//
//   const PairSource source = pairs_of_table(FeatureTableFiles{.vectors = "z.npy"}, {}, "", {});
//   const PairRequest request{.top = 100};
//   const FoundPairs found = find_pairs(request, mining_options(request, source), source, progress);
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "debias/core/progress.h"
#include "debias/data/row_groups.h"
#include "debias/mining/mined_pairs.h"
#include "debias/mining/pair_rows.h"
#include "debias/runs/pair_source.h"

namespace debias {

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
  int64_t searched = 0;             // rows of the first split
  std::vector<CopiedImage> copies;  // of two rows or more: conflicts of labels first, then the larger ones
  RowGroups groups;                 // of the rows of both splits: those of the source and copies, joined; empty of a sample
  std::string verdict;              // a sentence
  std::vector<std::string> notes;   // one line each: a count, the first of them and what to do

  int64_t conflicts() const;  // images whose copies have different labels
};

// Usage errors as for MiningOptions::check().
MiningOptions mining_options(const PairRequest& request, const PairSource& source);

// The pairs: false negatives first, then duplicates and leaks; or the random sample. Rows of one group, of zeros, of images without detail, and copies
// but the first are in no false negative. A row of the second split is a leak if it is a copy of one of the first, or of its group. Copies are confirmed on
// pixels if the source has images. Data error: fewer than two rows, or a row that is not finite.
FoundPairs find_pairs(const PairRequest& request, const MiningOptions& options, const PairSource& source, Progress& progress);

// `source` names the rows of the copies.
nlohmann::ordered_json to_json(const FoundPairs& found, const PairSource& source);

// `path,group` and, of two splits, `split`: every row, with a number for each group.
std::string groups_csv(const FoundPairs& found, const PairSource& source);

// "cat 2, dog 1", "train 3": how many of the rows have each label, or are of each split.
std::string counted_labels(const PairSource& source, const std::vector<int64_t>& rows);
std::string counted_splits(const PairSource& source, const std::vector<int64_t>& rows);

}  // namespace debias
