#include "debias/augment/lab.h"

#include <algorithm>
#include <cmath>

#include "debias/core/error.h"

namespace debias {
namespace {

double linear(uint8_t byte) {
  const double v = byte / 255.0;
  return v > 0.04045 ? std::pow((v + 0.055) / 1.055, 2.4) : v / 12.92;
}

double lightness_root(double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; }

uint8_t byte_of(double value) { return static_cast<uint8_t>(std::clamp(std::lround(value), 0L, 255L)); }

}  // namespace

std::array<double, 3> lab_of(const uint8_t* rgb) {
  const double r = linear(rgb[0]), g = linear(rgb[1]), b = linear(rgb[2]);
  const double x = lightness_root((0.412453 * r + 0.357580 * g + 0.180423 * b) / 0.95047);
  const double y = lightness_root(0.212671 * r + 0.715160 * g + 0.072169 * b);
  const double z = lightness_root((0.019334 * r + 0.119193 * g + 0.950227 * b) / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

void convert_to_lab(Image& image) {
  if (image.channels != 3) throw usage_error("rgb_to_lab: needs an image of 3 channels, found {}", image.channels);
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    const auto [l, a, b] = lab_of(image.pixels.data() + i);
    image.pixels[i] = byte_of(2.55 * l);
    image.pixels[i + 1] = byte_of(a + 128);
    image.pixels[i + 2] = byte_of(b + 128);
  }
}

}  // namespace debias
