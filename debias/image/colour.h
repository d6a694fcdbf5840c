// Colour adjustments on 8-bit pixels with Pillow's integer rules: each result is trunc(clip(y + factor * (x - y), 0, 255)) for an
// end point y, in float. On 1-channel images brightness and contrast act; saturation, hue and grayscale change nothing. On a frame they
// wait, and those that follow each other are carried out together, with the same result.
// Source: PIL.ImageEnhance, libImaging/Blend.c and Convert.c; torchvision.transforms._functional_pil.
#pragma once

#include "debias/image/image.h"
#include "debias/image/view_frame.h"

namespace debias {

void adjust_brightness(ViewFrame& frame, double factor);  // y = 0
void adjust_contrast(ViewFrame& frame, double factor);    // y = int(mean luma + 0.5), one value for the image
void adjust_saturation(ViewFrame& frame, double factor);  // y = the pixel's luma
// Through HSV bytes: h is moved by trunc(255 * turns) modulo 256. A usage error unless -0.5 <= turns <= 0.5.
void adjust_hue(ViewFrame& frame, double turns);
void make_grayscale(ViewFrame& frame);  // ITU-R 601 luma in Pillow's 16-bit fixed point, in all channels

void adjust_brightness(Image& image, double factor);
void adjust_contrast(Image& image, double factor);
void adjust_saturation(Image& image, double factor);
void adjust_hue(Image& image, double turns);
void make_grayscale(Image& image);

}  // namespace debias
