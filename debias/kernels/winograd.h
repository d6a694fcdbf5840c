// Convolutions by 3x3 filters, stride 1 and padding 1, on float32 maps that lie channels-last, in tiles of 4x4 outputs (Winograd's F(4x4, 3x3),
// Lavin and Gray 2016, https://arxiv.org/abs/1509.09308): 36 products of matrices instead of 144, a fourth of the multiplications.
//
//   y = A'[(G w G') . (B' x B)] A        the sum over input channels of the 36 products is a matrix product of tiles and filters
//
// Polynomials are evaluated at 0, +-sqrt(2), +-1/sqrt(2) and infinity: the errors are a third of those at 0, +-1, +-2, and one to three times
// those of the direct sum. The order of every sum depends on the shape alone: the same bytes for every number of threads, and an image's map
// does not depend on its batch.
#pragma once

#include <cstdint>

namespace debias::kernels {

struct ConvolutionShape {
  int64_t images = 0, height = 0, width = 0, in = 0, out = 0;
};

// Whether it is faster than the direct sum: whole vectors of channels, and enough tiles, mostly filled, for the filters.
bool winograd_pays(const ConvolutionShape& shape);

// Of the result: y + bias + residual, and of that what is above 0, if `relu`; NaN stays NaN. Null is none.
struct AfterConvolution {
  const float *bias = nullptr, *residual = nullptr;  // [out]; [images, height, width, out]
  bool relu = false;
};

// x: [images, height, width, in]; weight: [3, 3, in, out]; y: [images, height, width, out].
void winograd_convolution(const ConvolutionShape& shape, const float* x, const float* weight, float* y, const AfterConvolution& after = {});

// dw: [3, 3, in, out], the sum over all positions of x and dy [images, height, width, out].
void winograd_weight_gradient(const ConvolutionShape& shape, const float* x, const float* dy, float* dw);

}  // namespace debias::kernels
