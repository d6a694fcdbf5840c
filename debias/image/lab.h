// sRGB to CIE L*a*b*.
#pragma once

#include <array>
#include <cstdint>

#include "debias/image/view_frame.h"

namespace debias {

// sRGB bytes to L in [0, 100], a and b (D65 white, 2 degree observer), in double. Source: CIE 15; the matrix of IEC 61966-2-1.
std::array<double, 3> lab_of(const uint8_t* rgb);

// Pixels become round(2.55 L), round(a + 128), round(b + 128); a frame has the values before rounding as well, so that a view that ends
// here loses nothing. A usage error for images of one channel.
void convert_to_lab(ViewFrame& frame);

// Normalisation of such pixels, of values in [0, 1]: middle and half width of the range that each coordinate has over all sRGB colours.
// Source: HobbitLong/CMC, train_CMC.py (mean and std for Lab: L in [0, 100], a in [-86.183, 98.233], b in [-107.857, 94.478]).
constexpr std::array<double, 3> kLabMean = {0.5, (128 + (98.233 - 86.183) / 2) / 255, (128 + (94.478 - 107.857) / 2) / 255};
constexpr std::array<double, 3> kLabStd = {0.5, (98.233 + 86.183) / 2 / 255, (94.478 + 107.857) / 2 / 255};

}  // namespace debias
