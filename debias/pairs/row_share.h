// The work of sums over pairs, divided among processes that each have all rows: one walks some blocks of anchors, and gets what the others
// found of theirs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace debias {

struct RowShare {
  int64_t part = 0, parts = 1;  // this process', and how many there are
  // Both are collective. All rows [n, ...], from each part's own [bounds[part + 1] - bounds[part], ...].
  std::function<at::Tensor(const at::Tensor& own, const std::vector<int64_t>& bounds)> gather;
  std::function<at::Tensor(const at::Tensor& own)> sum;  // of the parts', in their order
};

}  // namespace debias
