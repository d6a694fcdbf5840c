// Gradual changes of brightness over the whole image: vignettes, spotlights, light from one side.
//
// Steps of log luma on a grid of at most 32 x 32 means: over the image their median downwards and to the right, and the share of rising less
// falling ones; then both again for steps away from the middle, in six rings. Medians leave the edges of objects out, so that content
// affects them little.
#pragma once

#include <array>

#include "debias/image/image.h"

namespace debias {

constexpr int kShadingRings = 6, kShadingValues = 4 + 2 * kShadingRings;

std::array<float, kShadingValues> shading_features(const Image& image);  // RGB

}  // namespace debias
