// The arithmetic of batch_norm.h on a few rows by one thread, vectorised for the machine it runs on. Arrays of channels have
// shape.channels values.
#pragma once

#include "debias/kernels/batch_norm.h"

namespace debias::kernels::cpu {

void moments_of_rows(const MapShape& shape, const void* x, float* mean, float* m2);
void normalise_rows(const MapShape& shape, const void* x, const NormFactors& factors, const void* residual, bool relu, void* y);
void gradient_sums_of_rows(const MapShape& shape, Passed passed, const GradientMaps& maps, const NormFactors& factors, void* kept,
                           float* sum, float* dot);
void gradient_of_rows(const MapShape& shape, Passed passed, const GradientMaps& maps, const NormFactors& factors,
                      const GradientFactors& gradient, void* dx);

}  // namespace debias::kernels::cpu
