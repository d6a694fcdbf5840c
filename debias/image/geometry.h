// Steps that move pixels without mixing them: crops with black padding, mirroring, rotation.
#pragma once

#include "debias/image/image.h"
#include "debias/image/view_frame.h"

namespace debias {

// The box of the image; pixels outside the image are black.
void padded_crop(ViewFrame& frame, const Box& box);
Image padded_crop(const Image& image, const Box& box);

// The box that torchvision's CenterCrop takes: offset (H - h) / 2, halves rounded to even; a crop larger than the image is centred on it.
Box center_box(int image_height, int image_width, int height, int width);

void mirror_horizontally(ViewFrame& frame);
void mirror_horizontally(Image& image);

// Counter-clockwise about the centre, same size, nearest pixel, black outside. Pillow's `Image.rotate` (Geometry.c, 16.16 fixed point).
void rotate(ViewFrame& frame, double degrees);
Image rotated(const Image& image, double degrees);

// Cropping and antialiased resizing of 8-bit images, with Pillow's numbers.

// The box cut out of the image, then resized as Pillow's `Image.resize(size, BILINEAR)` does it: a triangle filter as wide as the scale
// (so that shrinking averages), horizontal pass first, fixed-point weights, and rounding to 8 bits after each pass. Only pixels of the
// box are read. For a reduced image, the box is that of reduced() in image.h. A usage error when the box is empty or
// not inside the image, or the output is empty. Source: Pillow, src/libImaging/Resample.c; torchvision.transforms.functional.resized_crop
// on PIL images.
void resized_crop(ViewFrame& frame, const Box& box, int height, int width);
Image resized_crop(const Image& image, const Box& box, int height, int width);

// The whole image, resized.
void resize(ViewFrame& frame, int height, int width);
Image resized(const Image& image, int height, int width);

// Small copies of images, to be shown in a report.

// The pixels as they are, or shrunk (geometry.h) so that the longer side has `longest` pixels.
Image thumbnail(const Image& image, int longest = 64);

}  // namespace debias
