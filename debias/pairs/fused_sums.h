// The sums of pair_rows.h by the tile engine (debias/kernels): float32 on the CPU, O(n) memory beyond the budget, deterministic.
//
// Rows are sorted by group once for each Rows, and their gradient goes back through that permutation. The sums of one Rows form a
// chain: each hands the sorted rows on to the next, so that on the way back one buffer gathers all their gradients. Tiles of the forward
// pass are kept for the backward pass where they fit the memory budget, else computed again. Differentiating twice is rejected.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "debias/pairs/pair_sums.h"

namespace debias {

std::vector<at::Tensor> fused_log_sums(const Rows& rows, const std::vector<PairSum>& requests);
std::vector<at::Tensor> fused_ranked_log_sums(const Rows& rows, const std::vector<RankedSum>& requests);
at::Tensor fused_equal_sums(const Rows& rows);
at::Tensor fused_log_add_sums(const Rows& rows, const at::Tensor& c, const LogAdd& term);  // epsilon finite

}  // namespace debias
