#include "debias/losses/scores/neighbour_hits.h"

#include <ATen/ATen.h>

#include "debias/pairs/rows.h"

namespace debias {

NeighbourHits neighbour_hits(const at::Tensor& scores) {
  const int64_t B = scores.size(0);
  const at::Tensor best = scores.detach().clone().fill_diagonal_(0).argmax(1), index = at::arange(B, best.options());
  NeighbourHits hits;
  hits.pairs = B - 1;
  hits.next = LateNumber(best.slice(0, 0, B - 1).eq(index.slice(0, 1)).sum());
  hits.previous = LateNumber(best.slice(0, 1).eq(index.slice(0, 0, B - 1)).sum());
  return hits;
}

int64_t nearest_is_neighbour(const at::Tensor& scores) {
  const at::Tensor best = scores.detach().clone().fill_diagonal_(kLogOfNothing).argmax(1);
  const at::Tensor index = at::arange(scores.size(0), best.options());
  return (best - index).abs().eq(1).sum().item<int64_t>();
}

}  // namespace debias
