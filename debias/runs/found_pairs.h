// Finds false negatives, duplicates and leaks among the rows of a pair source, as `debias pairs` does.
//
//   const PairSource source = pairs_of_table(FeatureTableFiles().vectors("z.npy"), {}, "", {}, log);
//   const PairRequest request{.top = 100};
//   const FoundPairs found = find_pairs(request, mining_options(request, source), source, progress, log);
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "debias/mining/split_leaks.h"
#include "debias/runs/pair_source.h"

namespace debias {

struct PairRequest {
  int64_t top = 500;  // maximum number of false negatives, the first by `rank`
  PairRank rank = PairRank::kSimilarity;
  uint64_t seed = 1;
  std::optional<int64_t> sample{};                  // number of random pairs to return instead
  std::optional<double> temperature{}, tau_plus{};  // absent: as in the source
};

struct FoundPairs {
  std::vector<PairRow> rows;
  std::optional<SplitLeaks> leaks;
  MiningOptions options;
  bool by_views = false, on_pixels = false;
  double threshold = 0;  // minimum cosine of candidates for copies
  int64_t searched = 0;  // rows
};

// Usage errors as for MiningOptions::check().
MiningOptions mining_options(const PairRequest& request, const PairSource& source);

// The pairs: false negatives first, then duplicates and leaks; or the random sample. Duplicates and leaks are confirmed on pixels if the
// source has images. Data error: fewer than two rows, or a row that is not finite.
FoundPairs find_pairs(const PairRequest& request, const MiningOptions& options, const PairSource& source, Progress& progress, Log& log);

nlohmann::ordered_json to_json(const FoundPairs& found);

// The page for marking the pairs (pairs_page.h), with thumbnails of the readable images. `name` is the name of the source.
std::string marking_page(const FoundPairs& found, const PairSource& source, const std::string& name);

}  // namespace debias
