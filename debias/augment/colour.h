// Colour adjustments on 8-bit pixels with Pillow's integer rules: each result is trunc(clip(y + factor * (x - y), 0, 255)) for an
// end point y, in float. On 1-channel images brightness and contrast act; saturation, hue and grayscale change nothing.
// Source: PIL.ImageEnhance, libImaging/Blend.c and Convert.c; torchvision.transforms._functional_pil.
#pragma once

#include <cstddef>
#include <cstdint>

#include "debias/core/image.h"

namespace debias {

// ITU-R 601 luma in Pillow's 16-bit fixed point.
inline uint8_t luma(const uint8_t* rgb) { return static_cast<uint8_t>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16); }

void adjust_brightness(Image& image, double factor);  // y = 0
void adjust_contrast(Image& image, double factor);    // y = int(mean luma + 0.5), one value for the image
void adjust_saturation(Image& image, double factor);  // y = the pixel's luma
// Through HSV bytes: h is moved by trunc(255 * turns) modulo 256. A usage error unless -0.5 <= turns <= 0.5.
void adjust_hue(Image& image, double turns);
void make_grayscale(Image& image);  // luma in all channels

}  // namespace debias
