// Products of double rows with d x d matrices, row-major, in place. Each call is one thread's work within a parallel region and
// calls no operator of torch, so it may run on any thread.
#pragma once

#include <cstdint>

namespace debias::kernels {

// out [d, d] = rows [n, d]^T rows
void gram(int64_t n, int64_t d, const double* rows, double* out);

// out [d, d] = left [n, d]^T right [n, d]
void cross(int64_t n, int64_t d, const double* left, const double* right, double* out);

// out [n, d] = rows [n, d] square [d, d]
void times_square(int64_t n, int64_t d, const double* rows, const double* square, double* out);

// out [count] += weight values [count]
void add_scaled(int64_t count, double weight, const double* values, double* out);

}  // namespace debias::kernels
