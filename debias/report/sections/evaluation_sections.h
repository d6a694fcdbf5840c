#pragma once

#include <cstdint>
#include <vector>

#include "debias/report/sections/evaluation_figures.h"

namespace debias {

// Evaluated images beside their nearest training images, as thumbnails; neighbours of another group are marked.
struct Gallery {
  Html first, others;  // a few evaluated images, and the others; empty where the run has no neighbours of the set
  int64_t queries = 0, shown = 0, in_first = 0, bytes = 0;
  std::vector<std::string> missing;  // thumbnails that are not there, or no PNG
};

// Ids, ascending, of the evaluated images that all runs with neighbours of the set have; empty for a single such run.
std::vector<int64_t> shared_queries(const std::vector<RunRecord>& runs, const EvaluatedSet& set);

// From RUN/evaluation/thumbnails[-DATA]/SPLIT_ID.png and train_ID.png. A query whose thumbnails would go beyond `most_bytes` ends the
// gallery; the shared ones come first, then wrong and right predictions take turns.
Gallery neighbour_gallery(const RunRecord& run, const EvaluatedSet& set, const std::vector<int64_t>& shared, int64_t most_bytes);

}  // namespace debias
