// Scores of anchors against rows picked from a bank, and their gradient, in place: nothing is gathered.
//
//   scores[i, k] = scale <bank[ids[i, k]], f_i>,     df_i = scale sum over k of grads[i, k] bank[ids[i, k]]
//
// A row of a large bank costs a walk to memory for each of its picks, and a batch picks each row many times. So the picks of all anchors
// are taken block of the bank by block, in an order found by counting; a block stays in the second-level cache while it is in use. Each
// output element has one owner and a fixed order of summation, whatever the number of threads. Held beside the arguments: a four-byte
// place for each pick.
#pragma once

#include <cstdint>

namespace debias::kernels {

struct BankRows {
  const float* rows = nullptr;  // [n, dim]
  int64_t n = 0, dim = 0;
};

struct BankPicks {
  const int32_t* ids = nullptr;  // [anchors, each], all in 0..n-1; a row may be picked again
  int64_t anchors = 0, each = 0;
};

// f [anchors, dim], scores [anchors, each].
void bank_scores_forward(const BankRows& bank, const BankPicks& picks, const float* f, float scale, float* scores);

// grads [anchors, each]; df [anchors, dim] is written.
void bank_scores_backward(const BankRows& bank, const BankPicks& picks, const float* grads, float scale, float* df);

}  // namespace debias::kernels
