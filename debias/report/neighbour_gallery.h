// Judged images beside their nearest training images, as thumbnails; neighbours of another group are marked.
#pragma once

#include <cstdint>
#include <vector>

#include "debias/report/judgement_figures.h"

namespace debias {

struct Gallery {
  Html first, others;  // a few judged images, and the others; empty where the run has no neighbours of the set
  int64_t queries = 0, shown = 0, in_first = 0, bytes = 0;
  std::vector<std::string> missing;  // thumbnails that are not there, or no PNG
};

// From RUN/evaluation/thumbnails[-DATA]/SPLIT_ID.png and train_ID.png. A query whose thumbnails would go beyond `most_bytes` ends the
// gallery; wrong and right predictions take turns until then.
Gallery neighbour_gallery(const RunRecord& run, const JudgedSet& set, int64_t most_bytes);

}  // namespace debias
