// The engines of the sums of pair_sums.h. The plain compositions in libtorch are their definition.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "debias/pairs/pair_sums.h"

namespace debias {

// Dense: plain compositions in libtorch over [n, m] matrices: the definition. Differentiable any number of times.
std::vector<at::Tensor> dense_log_sums(const Rows& rows, const std::vector<PairSum>& requests);
std::vector<at::Tensor> dense_ranked_log_sums(const Rows& rows, const std::vector<RankedSum>& requests);
at::Tensor dense_log_add_sums(const Rows& rows, const at::Tensor& c, const LogAdd& term);

// The same of a matrix of scores s [n, m], without those that are `out`, bool [n, m].
at::Tensor matrix_log_sum(const at::Tensor& s, const at::Tensor& out, double multiplier);
std::vector<at::Tensor> matrix_ranked_log_sums(const at::Tensor& s, const at::Tensor& out, const std::vector<RankedSum>& requests);

// [rows, m] in 1..N among the columns that are not `out`, ties sharing the largest; 0 elsewhere.
at::Tensor ranks(const at::Tensor& s, const at::Tensor& out);

// Fused: the tile engine (debias/kernels): float32 on the CPU, O(n) memory beyond the budget, deterministic.
//
// Rows are sorted by group once for each Rows, and their gradient goes back through that permutation. The sums of one Rows form a
// chain: each hands the sorted rows on to the next, so that on the way back one buffer gathers all their gradients. Tiles of the forward
// pass are kept for the backward pass where they fit the memory budget, else computed again. Differentiating twice is rejected.
std::vector<at::Tensor> fused_log_sums(const Rows& rows, const std::vector<PairSum>& requests);
std::vector<at::Tensor> fused_ranked_log_sums(const Rows& rows, const std::vector<RankedSum>& requests);
at::Tensor fused_equal_sums(const Rows& rows);
at::Tensor fused_log_add_sums(const Rows& rows, const at::Tensor& c, const LogAdd& term);  // epsilon finite

// Blocked: blocks of anchors against all keys, in libtorch alone: any device, float32 and float64, with keys or without,
// O((n + m) * block) memory. The backward pass forms each block again. If the keys are the anchors, a block's weights have both roles of
// its rows, so that one product and one owner a row is all that it takes. Differentiating twice is rejected.
std::vector<at::Tensor> blocked_log_sums(const Rows& rows, const std::vector<PairSum>& requests);
std::vector<at::Tensor> blocked_ranked_log_sums(const Rows& rows, const std::vector<RankedSum>& requests);
at::Tensor blocked_log_add_sums(const Rows& rows, const at::Tensor& c, const LogAdd& term);  // epsilon finite

// Usage error while a graph of the backward pass is requested.
void refuse_second_derivative(const char* op, const char* engine);

}  // namespace debias
