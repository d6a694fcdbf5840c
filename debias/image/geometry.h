// Steps that move pixels without mixing them: crops with black padding, mirroring, rotation.
#pragma once

#include "debias/image/box.h"
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

}  // namespace debias
