#include "debias/losses/scores/neighbour_hits.h"

#include <ATen/ATen.h>

#include "debias/pairs/rows.h"

namespace debias {

NeighbourHits neighbour_hits(const at::Tensor& scores) {
  const int64_t B = scores.size(0);
  const at::Tensor index = at::arange(B, at::kLong), best = scores.detach().clone().fill_diagonal_(0).argmax(1);
  NeighbourHits hits;
  hits.pairs = B - 1;
  hits.next = best.slice(0, 0, B - 1).eq(index.slice(0, 1)).sum().item<int64_t>();
  hits.previous = best.slice(0, 1).eq(index.slice(0, 0, B - 1)).sum().item<int64_t>();
  return hits;
}

int64_t nearest_is_neighbour(const at::Tensor& scores) {
  const at::Tensor index = at::arange(scores.size(0), at::kLong);
  const at::Tensor best = scores.detach().clone().fill_diagonal_(kLogOfNothing).argmax(1);
  return (best - index).abs().eq(1).sum().item<int64_t>();
}

}  // namespace debias
