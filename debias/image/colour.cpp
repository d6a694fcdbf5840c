#include "debias/image/colour.h"

#include <cmath>

#include "debias/core/error.h"

namespace debias {
namespace {

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

}  // namespace debias
