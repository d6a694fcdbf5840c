// Row sums of log(e^{-epsilon} + e^{c_i + sign s_ij}) over a set of pairs, and their gradient.
//
//   sums[i]   = sum over j in set(i) of log(e^{-epsilon} + e^x), x = c_i + sign s_ij
//   slopes[i] = sum over j in set(i) of d/dx of it = 1 / (1 + e^{-x - epsilon}), which is d sums[i] / d c_i
//
// Walked as in log_sums.h; with PairSet::kEqual only the blocks of the groups are visited.
#pragma once

#include "debias/kernels/sorted_rows.h"

namespace debias::kernels {

struct LogAddTerm {
  PairSet set = PairSet::kEqual;
  float sign = -1;    // -1 or 1
  float epsilon = 0;  // finite
};

void log_add_sums_forward(const SortedRows& rows, const LogAddTerm& term, const float* c, double* sums, double* slopes);

// dz[i] += the gradient with respect to z of the sum over i of grads[i] sums[i].
void log_add_sums_backward(const SortedRows& rows, const LogAddTerm& term, const float* c, const float* grads, float* dz);

}  // namespace debias::kernels
