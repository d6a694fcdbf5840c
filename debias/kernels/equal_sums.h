// Row sums of scores over the own group, and their gradient: linear in n, no pair is formed.
//
//   sums[i] = sum over j != i of i's group of s_ij = scale z_i . (m - z_i),  m the sum of the group's rows
#pragma once

#include "debias/kernels/sorted_rows.h"

namespace debias::kernels {

void equal_sums_forward(const SortedRows& rows, double* sums);

// dz += the gradient of sum of grads[i] sums[i].
void equal_sums_backward(const SortedRows& rows, const double* grads, float* dz);

}  // namespace debias::kernels
