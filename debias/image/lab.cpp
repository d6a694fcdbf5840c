#include "debias/image/lab.h"

#include <cmath>

#include "debias/image/fine_conversion.h"

namespace debias {
namespace {

std::array<double, 256> linear_values() {
  std::array<double, 256> values;
  for (int byte = 0; byte < 256; ++byte) {
    const double v = byte / 255.0;
    values[byte] = v > 0.04045 ? std::pow((v + 0.055) / 1.055, 2.4) : v / 12.92;
  }
  return values;
}

double lightness_root(double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; }

}  // namespace

std::array<double, 3> lab_of(const uint8_t* rgb) {
  static const std::array<double, 256> linear = linear_values();
  const double r = linear[rgb[0]], g = linear[rgb[1]], b = linear[rgb[2]];
  const double x = lightness_root((0.412453 * r + 0.357580 * g + 0.180423 * b) / 0.95047);
  const double y = lightness_root(0.212671 * r + 0.715160 * g + 0.072169 * b);
  const double z = lightness_root((0.019334 * r + 0.119193 * g + 0.950227 * b) / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

void convert_to_lab(ViewFrame& frame) {
  convert_colours(frame, "rgb_to_lab", [](const uint8_t* rgb) {
    const auto [l, a, b] = lab_of(rgb);
    return std::array<double, 3>{2.55 * l, a + 128, b + 128};
  });
}

}  // namespace debias
