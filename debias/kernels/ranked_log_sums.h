// Row sums of exponentials over the unequal rows, each weighted by the rank of its score.
//
//   log_sums[r][i] = log sum over unequal j of w_r[rank_ij] e^{k_r s_ij},  rank_ij = how many unequal j' have s_ij' <= s_ij
//
// -1e30 where the sum is empty or all weights are zero. Ranks come from sorting a panel's rows, O(n log n) a row. A panel of rows against
// all columns is the largest thing held.
#pragma once

#include <vector>

#include "debias/kernels/sorted_rows.h"

namespace debias::kernels {

struct RankedSum {
  const double* log_weight = nullptr;  // [ranks]: of ranks 1..ranks, -inf for a weight of zero
  int64_t ranks = 0;                   // at least the number of unequal rows of any row
  float multiplier = 1;
};

// `order` [n, n], if given, receives each row's unequal columns by rising score, which then need no second sort in the backward pass.
void ranked_log_sums_forward(const SortedRows& rows, const std::vector<RankedSum>& requests, double* log_sums, int32_t* order);

// dz += the gradient, weights and ranks held constant. grads [requests, n].
void ranked_log_sums_backward(const SortedRows& rows, const std::vector<RankedSum>& requests, const double* log_sums, const int32_t* order,
                              const double* grads, float* dz);

}  // namespace debias::kernels
