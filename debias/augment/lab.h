// sRGB to CIE L*a*b*.
#pragma once

#include <array>
#include <cstdint>

#include "debias/core/image.h"

namespace debias {

// sRGB bytes to L in [0, 100], a and b (D65 white, 2 degree observer), in double. Source: CIE 15; the matrix of IEC 61966-2-1.
std::array<double, 3> lab_of(const uint8_t* rgb);

// Pixels become round(2.55 L), round(a + 128), round(b + 128). A usage error for images of one channel.
void convert_to_lab(Image& image);

}  // namespace debias
