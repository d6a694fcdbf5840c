// Colour adjustments on 8-bit pixels with Pillow's integer rules: each result is trunc(clip(y + factor * (x - y), 0, 255)) for an
// end point y, in float. On 1-channel images brightness and contrast act; saturation, hue and grayscale change nothing. On a frame they
// wait, and those that follow each other are carried out together, with the same result.
// Source: PIL.ImageEnhance, libImaging/Blend.c and Convert.c; torchvision.transforms._functional_pil.
#pragma once

#include <array>
#include <cstdint>

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

// sRGB to CIE L*a*b*.

// sRGB bytes to L in [0, 100], a and b (D65 white, 2 degree observer), in double. Source: CIE 15; the matrix of IEC 61966-2-1.
std::array<double, 3> lab_of(const uint8_t* rgb);

// Pixels become round(2.55 L), round(a + 128), round(b + 128); a frame has the values before rounding as well, so that a view that ends
// here loses nothing. A usage error for images of one channel.
void convert_to_lab(ViewFrame& frame);

// Normalisation of such pixels, of values in [0, 1]: middle and half width of the range that each coordinate has over all sRGB colours.
// Source: HobbitLong/CMC, train_CMC.py (mean and std for Lab: L in [0, 100], a in [-86.183, 98.233], b in [-107.857, 94.478]).
constexpr std::array<double, 3> kLabMean = {0.5, (128 + (98.233 - 86.183) / 2) / 255, (128 + (94.478 - 107.857) / 2) / 255};
constexpr std::array<double, 3> kLabStd = {0.5, (98.233 + 86.183) / 2 / 255, (94.478 + 107.857) / 2 / 255};

// sRGB to YCbCr as digital video has it.

// sRGB bytes to Y in [16, 235], Cb and Cr in [16, 240], in double. Source: ITU-R BT.601; coefficients as in skimage.color.rgb2ycbcr.
std::array<double, 3> ycbcr_of(const uint8_t* rgb);

// Pixels become these numbers, rounded; a frame has the values before rounding as well, so that a view that ends here loses nothing. A
// usage error for images of one channel.
void convert_to_ycbcr(ViewFrame& frame);

// Normalisation of such pixels, of values in [0, 1]. Source: HobbitLong/CMC, train_CMC.py (mean and std for YCbCr, of the numbers above).
constexpr std::array<double, 3> kYcbcrMean = {116.151 / 255, 121.080 / 255, 132.342 / 255};
constexpr std::array<double, 3> kYcbcrStd = {109.500 / 255, 111.855 / 255, 111.964 / 255};

}  // namespace debias
