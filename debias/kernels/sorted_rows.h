// Input of the pairwise kernels, and the pairs that a sum takes.
//
// n rows of D floats, row-major, sorted by group, so that the rows of row i's group are the columns [first[i], last[i]). Then no pair is
// ever looked up: the columns that are unequal to row i are left and right of its block, the equal ones inside it. Scores are s_ij = scale
// z_i.z_j.
//
// All kernels are deterministic: every output element has one owner and a fixed order of summation, whatever the number of threads.
#pragma once

#include <cstdint>

namespace debias::kernels {

struct SortedRows {
  const float* z = nullptr;  // [n, dim], 64-byte aligned
  int64_t n = 0, dim = 0;
  const int32_t* first = nullptr;  // [n]
  const int32_t* last = nullptr;   // [n]
  float scale = 1;
  float largest_norm2 = 1;  // max |z_i|^2: |s_ij| <= |scale| largest_norm2
  // Rows, and what multiplies them on the way back, may be rounded to bfloat16 for products, which are accumulated in float32. Acts where
  // the machine has an instruction for it, in log_sums and log_add_sums.
  bool bfloat16_products = false;
};

enum class PairSet { kOthers, kUnequal, kEqual };  // all j != i; other groups; the own group without i

}  // namespace debias::kernels
