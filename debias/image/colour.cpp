#include "debias/image/colour.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "debias/core/error.h"

namespace debias {
namespace {

// A step that gives every pixel other coordinates: as bytes, and before rounding.

// values_of(const uint8_t rgb[3]) gives three numbers on the scale of bytes. A usage error naming `step` for images of one channel.
template <class Values>
void convert_colours(ViewFrame& frame, const char* step, const Values& values_of) {
  if (frame.channels() != 3) throw usage_error("{}: needs an image of 3 channels, found {}", step, frame.channels());
  const size_t count = static_cast<size_t>(frame.height()) * frame.width();
  uint8_t* const planes[3] = {frame.plane(0), frame.plane(1), frame.plane(2)};
  float* fine = frame.give_fine_values();
  for (size_t i = 0; i < count; ++i) {
    const uint8_t rgb[3] = {planes[0][i], planes[1][i], planes[2][i]};
    const std::array<double, 3> values = values_of(rgb);
    for (size_t c = 0; c < 3; ++c) {
      planes[c][i] = static_cast<uint8_t>(std::clamp(std::lround(values[c]), 0L, 255L));
      fine[c * count + i] = static_cast<float>(values[c]);
    }
  }
}

using Kind = ColourOperation::Kind;

float checked_factor(const char* what, double factor) {
  if (!(factor >= 0) || !std::isfinite(factor))
    throw usage_error("{}: the factor {} is negative or not finite; give one >= 0", what, factor);
  return static_cast<float>(factor);
}

}  // namespace

void adjust_brightness(ViewFrame& frame, double factor) { frame.add({Kind::kBlend, checked_factor("brightness", factor)}); }

void adjust_contrast(ViewFrame& frame, double factor) { frame.add({Kind::kBlendWithMean, checked_factor("contrast", factor)}); }

void adjust_saturation(ViewFrame& frame, double factor) {
  const float amount = checked_factor("saturation", factor);
  if (frame.channels() > 1) frame.add({Kind::kSaturation, amount});
}

void adjust_hue(ViewFrame& frame, double turns) {
  if (!(turns >= -0.5 && turns <= 0.5)) throw usage_error("hue: the factor {} is out of range; give turns in [-0.5, 0.5]", turns);
  if (frame.channels() > 1) frame.add({Kind::kHue, static_cast<float>(static_cast<int>(turns * 255.0))});
}

void make_grayscale(ViewFrame& frame) {
  if (frame.channels() > 1) frame.add({Kind::kGrayscale});
}

void adjust_brightness(Image& image, double factor) {
  through_frame(image, [factor](ViewFrame& frame) { adjust_brightness(frame, factor); });
}
void adjust_contrast(Image& image, double factor) {
  through_frame(image, [factor](ViewFrame& frame) { adjust_contrast(frame, factor); });
}
void adjust_saturation(Image& image, double factor) {
  through_frame(image, [factor](ViewFrame& frame) { adjust_saturation(frame, factor); });
}
void adjust_hue(Image& image, double turns) {
  through_frame(image, [turns](ViewFrame& frame) { adjust_hue(frame, turns); });
}
void make_grayscale(Image& image) {
  through_frame(image, [](ViewFrame& frame) { make_grayscale(frame); });
}

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

std::array<double, 3> ycbcr_of(const uint8_t* rgb) {
  const double r = rgb[0] / 255.0, g = rgb[1] / 255.0, b = rgb[2] / 255.0;
  return {16 + 65.481 * r + 128.553 * g + 24.966 * b, 128 - 37.797 * r - 74.203 * g + 112.0 * b, 128 + 112.0 * r - 93.786 * g - 18.214 * b};
}

void convert_to_ycbcr(ViewFrame& frame) { convert_colours(frame, "rgb_to_ycbcr", ycbcr_of); }

}  // namespace debias
