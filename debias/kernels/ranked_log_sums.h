// Row sums of exponentials over the unequal rows, each weighted by the rank of its score.
//
//   log_sums[r][i] = log sum over unequal j of w_r[rank_ij] e^{k_r s_ij},  rank_ij = how many unequal j' have s_ij' <= s_ij
//
// -1e30 where the sum is empty or all weights are zero. Ranks come from sorting rows of scores, O(n log n) a row. Some rows of scores
// against all columns are the largest thing held.
#pragma once

#include <vector>

#include "debias/kernels/sorted_rows.h"

namespace debias::kernels {

struct RankedSum {
  const double* log_weight = nullptr;  // [ranks]: of ranks 1..ranks, -inf for a weight of zero
  int64_t ranks = 0;                   // at least the number of unequal rows of any row
  float multiplier = 1;
  bool constant = false;  // no gradient goes through it

  bool has_gradient() const { return !constant && multiplier != 0; }
};

// Columns of a row of `kept`: a stride of a power of two would put a column's entries in one set of the cache.
inline int64_t kept_columns(int64_t n) { return n + 16; }

// `kept` [requests with a gradient, n, kept_columns(n)], if given, receives each pair's share of its row's sum, which the backward pass
// then need not compute again.
void ranked_log_sums_forward(const SortedRows& rows, const std::vector<RankedSum>& requests, double* log_sums, float* kept);

// dz += the gradient, weights and ranks held constant. grads [requests, n].
void ranked_log_sums_backward(const SortedRows& rows, const std::vector<RankedSum>& requests, const float* kept, const double* grads,
                              float* dz);

}  // namespace debias::kernels
