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

// Rows and columns that are lighter or darker than their neighbours over most of their length: rulers, seams, banding, faint screens.
//
// For each of 32 bands of rows, and of columns: the median over the line of its second difference to the lines beside it, the largest of the
// band, as sign times log(1 + magnitude). The median leaves the edges of objects out, so that content affects it little.
constexpr int kStripeBands = 32, kStripeValues = 2 * kStripeBands;

std::array<float, kStripeValues> stripe_features(const Image& image);  // RGB

}  // namespace debias
