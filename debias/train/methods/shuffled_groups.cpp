#include "debias/train/methods/shuffled_groups.h"

#include <ATen/ATen.h>

#include <stdexcept>

#include "debias/core/philox.h"
#include "debias/runtime/device.h"

namespace debias {

ShuffledGroups::ShuffledGroups(int64_t rows, int64_t groups, uint64_t seed, uint64_t step) {
  if (groups < 1 || rows < 1 || rows % groups != 0) throw std::logic_error("shuffled groups: their number divides the rows");
  RngKey key = {.domain = RngDomain::kShuffle, .seed = seed, .epoch = step};
  const at::Tensor order = at::tensor(permutation(rows, key), at::kLong);
  groups_ = order.split(rows / groups);
  place_ = order.argsort();
}

at::Tensor ShuffledGroups::in_order(const std::vector<at::Tensor>& of_groups) const {
  const at::Tensor all = at::cat(of_groups);
  return all.index_select(0, upload(place_, all.device()));
}

}  // namespace debias
