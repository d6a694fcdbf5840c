#include "debias/evaluate/alignment_map.h"

#include <algorithm>

#include "debias/data/dataset.h"

namespace debias {

AlignmentMap AlignmentMap::by_label(int64_t classes) {
  std::vector<std::vector<int64_t>> biases;
  for (int64_t c = 0; c < classes; ++c) biases.push_back({c});
  return AlignmentMap(std::move(biases));
}

Side AlignmentMap::side(int64_t label, int64_t bias) const {
  if (label == kUnknown || bias == kUnknown || label >= std::ssize(biases_)) return Side::kNeither;
  const std::vector<int64_t>& own = biases_[static_cast<size_t>(label)];
  if (own.empty() || std::ranges::find(unseen_, bias) != unseen_.end()) return Side::kNeither;
  return std::find(own.begin(), own.end(), bias) != own.end() ? Side::kAligned : Side::kConflicting;
}

}  // namespace debias
