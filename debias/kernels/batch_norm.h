// Batch normalisation with what follows it, a residual sum and ReLU, in as few walks through memory as it takes: two forward, two backward.
//
//   y = relu((x - mean) scale + shift + residual)        scale = weight / sqrt(variance + eps), shift = bias
//
// Maps are channels-last: `rows` = N H W positions of `channels` values, in float32 or bfloat16 (rounded to nearest), without gaps;
// statistics, factors and all sums are in float32. Statistics are a step of their own, as mean and sum of squared deviations, so that
// those of several processes can be joined before anything is normalised.
//
// Rows are cut into blocks whose sums are made by one thread, and joined in their order in double: the same bytes for every number of
// threads. Output arrays of channels have `channels` values.
#pragma once

#include <cstdint>

namespace debias::kernels {

struct MapShape {
  int64_t rows = 0, channels = 0;
  bool bfloat16 = false;
};

// m2: the sum of squared deviations from the mean. At least one row.
void channel_moments(const MapShape& shape, const void* x, float* mean, float* m2);

struct NormFactors {
  const float *mean = nullptr, *scale = nullptr, *shift = nullptr;
};

// `residual`: a map, or null. NaN stays NaN.
void normalise(const MapShape& shape, const void* x, const NormFactors& factors, const void* residual, bool relu, void* y);

// Elements of an output that pass the gradient: all, those above 0, or those above 0 as recomputed from x (no residual).
enum class Passed { kAll, kByOutput, kByInput };

// An output that is read twice gets gradients `dy` and `other`; else `other` is null. `y`: the output, read for kByOutput alone.
struct GradientMaps {
  const void *dy = nullptr, *other = nullptr, *y = nullptr, *x = nullptr;
};

// g = dy + other where it passed, else 0; per channel the sums of g and of g (x - mean). `kept`: takes g, or null where there is no
// `other`; it may be dy.
void norm_gradient_sums(const MapShape& shape, Passed passed, const GradientMaps& maps, const NormFactors& factors, void* kept, float* sum,
                        float* dot);

// dx = a g + b (x - mean) + c, with a, b, c per channel; `dx` may be dy, and there is no `other`.
struct GradientFactors {
  const float *a = nullptr, *b = nullptr, *c = nullptr;
};
void norm_gradient(const MapShape& shape, Passed passed, const GradientMaps& maps, const NormFactors& factors,
                   const GradientFactors& gradient, void* dx);

}  // namespace debias::kernels
