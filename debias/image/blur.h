// Gaussian blur of 8-bit images.
#pragma once

#include "debias/image/image.h"
#include "debias/image/view_frame.h"

namespace debias {

// Separable, weights proportional to exp(-x^2 / (2 sigma^2)) at x = -(k-1)/2, ..., (k-1)/2, borders mirrored without repeating the edge
// (reflect-101), one rounding to 8 bits at the end (torchvision's gaussian_blur, OpenCV's GaussianBlur). Fixed point throughout, so that
// every machine gives the same bytes; against real arithmetic a pixel may differ by 1. A usage error unless k is odd and sigma > 0.
void gaussian_blur(ViewFrame& frame, int kernel_size, double sigma);
void gaussian_blur(Image& image, int kernel_size, double sigma);

}  // namespace debias
