// The tone curve of an image: quantiles of luma and of the channels, and which of the 256 levels it uses.
//
// Exposure, contrast and gamma move the quantiles, and so does content. Level use is the trace of a curve that was applied to 8-bit values:
// gaps and peaks of the histogram. The content of an image affects it little. A later lossy compression removes it.
#pragma once

#include <array>

#include "debias/image/image.h"

namespace debias {

constexpr int kToneCurveValues = 28, kLevelUseValues = 30;

struct ToneCurve {
  // Quantiles 0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99 and 1 of luma; 0, 0.02, 0.5, 0.98 and 1 of red, green and blue;
  // skewness and kurtosis of luma. Levels are in [0, 1].
  std::array<float, kToneCurveValues> quantiles;
  // For red, green and blue: logs of the second differences of the histogram, of neighbouring levels and of those two apart, relative to
  // sampling noise; log of the number of gaps relative to an expected one; shares of the levels that are 0, 1, 2 and 3 modulo 4; their
  // distance from a quarter; logs of the peaks at both ends of the range.
  std::array<float, kLevelUseValues> use;
};

ToneCurve tone_curve(const Image& image);  // RGB

}  // namespace debias
