// `debias certify ranks`: trainings of several processes against those of one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/train/recipe.h"

namespace debias {

struct RankCertificate {
  std::string recipe;
  std::vector<std::string> words;
  std::vector<int64_t> ranks = {2, 3, 4};
  int64_t steps = 20;
  bool json = false;
};

// Prints a line for each claim and returns 1 where one fails.
int certify_ranks(const RankCertificate& asked);

}  // namespace debias
