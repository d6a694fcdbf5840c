// A batch's rows in a random order, cut into groups of one size, and back: what ShuffleBN normalises together (He et al. 2020, section 3.3).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace debias {

class ShuffledGroups {
 public:
  // A uniformly random order that follows from seed and step alone. `groups` divides `rows` (logic error otherwise).
  ShuffledGroups(int64_t rows, int64_t groups, uint64_t seed, uint64_t step);

  const std::vector<at::Tensor>& groups() const { return groups_; }  // int64 [rows / groups] each: which rows
  // Results of the groups [rows / groups, ...], one after the other, as [rows, ...] in the batch's own order.
  at::Tensor in_order(const std::vector<at::Tensor>& of_groups) const;

 private:
  std::vector<at::Tensor> groups_;
  at::Tensor place_;  // int64 [rows]: of each row among the groups
};

}  // namespace debias
