// sRGB to YCbCr as digital video has it.
#pragma once

#include <array>
#include <cstdint>

#include "debias/image/view_frame.h"

namespace debias {

// sRGB bytes to Y in [16, 235], Cb and Cr in [16, 240], in double. Source: ITU-R BT.601; coefficients as in skimage.color.rgb2ycbcr.
std::array<double, 3> ycbcr_of(const uint8_t* rgb);

// Pixels become these numbers, rounded; a frame has the values before rounding as well, so that a view that ends here loses nothing. A
// usage error for images of one channel.
void convert_to_ycbcr(ViewFrame& frame);

// Normalisation of such pixels, of values in [0, 1]. Source: HobbitLong/CMC, train_CMC.py (mean and std for YCbCr, of the numbers above).
constexpr std::array<double, 3> kYcbcrMean = {116.151 / 255, 121.080 / 255, 132.342 / 255};
constexpr std::array<double, 3> kYcbcrStd = {109.500 / 255, 111.855 / 255, 111.964 / 255};

}  // namespace debias
