#include "debias/image/ycbcr.h"

#include "debias/image/fine_conversion.h"

namespace debias {

std::array<double, 3> ycbcr_of(const uint8_t* rgb) {
  const double r = rgb[0] / 255.0, g = rgb[1] / 255.0, b = rgb[2] / 255.0;
  return {16 + 65.481 * r + 128.553 * g + 24.966 * b, 128 - 37.797 * r - 74.203 * g + 112.0 * b, 128 + 112.0 * r - 93.786 * g - 18.214 * b};
}

void convert_to_ycbcr(ViewFrame& frame) { convert_colours(frame, "rgb_to_ycbcr", ycbcr_of); }

}  // namespace debias
