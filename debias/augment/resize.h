// Cropping and antialiased resizing of 8-bit images, with Pillow's numbers.
#pragma once

#include <cstddef>

#include "debias/core/image.h"

namespace debias {

struct Box {
  int top = 0, left = 0, height = 0, width = 0;
};

// The box cut out of `image`, then resized as Pillow's `Image.resize(size, BILINEAR)` does it: a triangle filter as wide as the scale
// (so that shrinking averages), horizontal pass first, fixed-point weights, and rounding to 8 bits after each pass. Only pixels of the
// box are read. A usage error when the box is empty or not inside the image, or the output is empty.
// Source: Pillow, src/libImaging/Resample.c; torchvision.transforms.functional.resized_crop on PIL images.
Image resized_crop(const Image& image, const Box& box, int height, int width);

// The whole image, resized.
Image resized(const Image& image, int height, int width);

}  // namespace debias
