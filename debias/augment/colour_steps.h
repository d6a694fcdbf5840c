#pragma once

#include <array>

#include "debias/augment/step_options.h"
#include "debias/core/philox.h"

namespace debias {

// The draws of torchvision's ColorJitter.
enum class ColorAdjustment { kBrightness, kContrast, kSaturation, kHue };

struct JitterDraw {
  std::array<ColorAdjustment, 4> order;  // uniformly random
  double brightness = 1, contrast = 1, saturation = 1, hue = 0;
};

// Factors uniform in [max(0, 1 - x), 1 + x] for a number x, hue in [-x, x] turns; in [low, high] for a pair.
JitterDraw draw_jitter(const Spread& brightness, const Spread& contrast, const Spread& saturation, const Spread& hue, Random& random);

}  // namespace debias
