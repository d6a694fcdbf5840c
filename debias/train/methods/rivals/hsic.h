// The Hilbert-Schmidt independence criterion of two sets of features with Gaussian kernels: 0 where they are independent.
//
//   K_ij = exp(-|x_i - x_j|^2 / (2 sigma_x^2)), L the same of y, both with a diagonal of 0
//   HSIC_u = [ tr(K L) + 1'K1 1'L1 / ((n - 1)(n - 2)) - 2 / (n - 2) 1'K L 1 ] / (n (n - 3))
//
// x [n, D], y [n, E] floating point of one dtype, sigma > 0 in the units of their distances. Unbiased, so that independent features give
// numbers of both signs around 0; 0 for n < 4, where it is not defined. Differentiable in both. Source: Song et al. 2012 (JMLR); Bahng et
// al. 2020 (ReBias).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace debias {

inline constexpr int64_t kLeastHsicRows = 4;  // for which it is defined
at::Tensor unbiased_hsic(const at::Tensor& x, const at::Tensor& y, double sigma_x, double sigma_y);

// The median distance of two different rows of [n, D]; 1 where it is 0 or there is no pair.
double median_distance(const at::Tensor& rows);

}  // namespace debias
