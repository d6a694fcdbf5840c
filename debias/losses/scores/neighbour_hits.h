// How often a sentence's largest score is that of a neighbour.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "debias/losses/late_number.h"

namespace debias {

// Of scores [B, B], sentences in their order.
//
// Of how many rows the largest score, that of the sentence itself taken as 0, is that of the next and of the previous sentence; as the
// published program counts: each of the B - 1 pairs of neighbours once from either side.
struct NeighbourHits {
  int64_t pairs = 0;
  LateNumber next, previous;
};
NeighbourHits neighbour_hits(const at::Tensor& scores);

// Rows whose largest score, that of the sentence itself left out, is that of a sentence next to it.
int64_t nearest_is_neighbour(const at::Tensor& scores);

}  // namespace debias
