// History of the cosines of pairs over the epochs that `geometry` evaluated during training.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "debias/results/evaluation_record.h"

namespace debias {

struct SimilarityEpoch {
  int64_t epoch = 0;
  std::map<std::string, std::map<std::string, SimilarityHistogram>> similarity;  // by split, then by set of pairs
};

// RUN/evaluation/epoch-N/geometry.json, by epoch; empty where there is none. Data errors name the file.
std::vector<SimilarityEpoch> read_similarity_history(const std::string& folder);

// The cosine below which a share in [0, 1] of the pairs is, even within a bin; NaN without pairs.
double cosine_quantile(const SimilarityHistogram& histogram, double share);

}  // namespace debias
