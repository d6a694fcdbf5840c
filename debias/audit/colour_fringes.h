// How the channels of an image are shifted and blurred against each other: lateral chromatic aberration, demosaicing, chroma subsampling.
//
// For each pair of channels and each direction the correlation of one's steps with the other's next steps, less that with the channels
// exchanged; then the log ratio of red's (blue's) curvature to steps and that of green, for each direction. The content of an image affects
// both little.
#pragma once

#include <array>

#include "debias/audit/pixel_differences.h"

namespace debias {

constexpr int kFringeValues = 10;

std::array<float, kFringeValues> colour_fringes(const PixelDifferences& differences);

}  // namespace debias
