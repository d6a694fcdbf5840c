// Row sums of exponentials over sets of pairs, and their gradient.
//
//   log_sums[r][i] = log sum over j in set_r(i) of e^{k_r s_ij},  -1e30 where the set is empty
//
// The n x n scores are walked in square tiles of one triangle, each tile serving its rows and its columns; only tiles that hold a pair of a
// set are formed. If all |k_r s_ij| are small (k/t <= 41) one shift serves all rows, else each row has its maximum as shift, which costs
// a second walk. State is O(n); tiles may be kept, which then need no second product in the backward pass.
#pragma once

#include <cstdint>
#include <vector>

#include "debias/kernels/sorted_rows.h"

namespace debias::kernels {

struct ExpSum {
  PairSet set = PairSet::kUnequal;
  float multiplier = 1;  // k
};

// Content of kept tiles: scores, or, if all requests have one multiplier and one shift, exponentials, in bfloat16 with products in it.
enum class TileForm { kScores, kExponentials, kRoundedExponentials };

TileForm kept_form(const SortedRows& rows, const std::vector<ExpSum>& requests);
int64_t kept_bytes(int64_t n, TileForm form);  // of all tiles of one triangle

struct KeptTiles {
  TileForm form = TileForm::kScores;
  void* tiles = nullptr;  // null: nothing is kept
};

// log_sums: [requests, n]. `kept.form` from kept_form of the same requests.
void log_sums_forward(const SortedRows& rows, const std::vector<ExpSum>& requests, double* log_sums, KeptTiles kept);

// dz[i] += sum over r, j of grads[r][i] d log_sums[r][i] / d z: dz [n, dim] is added to. `log_sums` and `kept` from the forward pass, of
// whose requests some may be left out; grads [requests, n].
void log_sums_backward(const SortedRows& rows, const std::vector<ExpSum>& requests, const double* log_sums, KeptTiles kept,
                       const double* grads, float* dz);

}  // namespace debias::kernels
