// Products of row-major panels, by the BLAS that libtorch carries. Inside a parallel region each call runs on its own thread.
#pragma once

#include <cstdint>

namespace debias::kernels::cpu {

// out [m, n] (row stride ld) = alpha a [m, k] b [n, k]^T
void product_nt(int64_t m, int64_t n, int64_t k, float alpha, const float* a, const float* b, float* out, int64_t ld);
// out [m, d] = w [m, n] (row stride ld) b [n, d], or += where `add`
void product_nn(int64_t m, int64_t n, int64_t d, const float* w, int64_t ld, const float* b, bool add, float* out);
// out [n, d] += w [m, n]^T (row stride ld) a [m, d]
void add_product_tn(int64_t m, int64_t n, int64_t d, const float* w, int64_t ld, const float* a, float* out);

}  // namespace debias::kernels::cpu
