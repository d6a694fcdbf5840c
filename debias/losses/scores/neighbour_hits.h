// How often a sentence's largest score is that of a neighbour.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "debias/losses/late_number.h"

namespace debias {

// Counts over scores [B, B] of sentences in the order of the text.
//
// The number of rows whose largest score is that of the next and of the previous sentence, with the sentence's own score as 0. As in the
// published program, each of the B - 1 pairs of neighbours counts once from either side.
struct NeighbourHits {
  int64_t pairs = 0;
  LateNumber next, previous;
};
NeighbourHits neighbour_hits(const at::Tensor& scores);

// The number of rows whose largest score, without the sentence's own, is that of an adjacent sentence.
int64_t nearest_is_neighbour(const at::Tensor& scores);

}  // namespace debias
