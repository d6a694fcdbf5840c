// Rows and columns that are lighter or darker than their neighbours over most of their length: rulers, seams, banding, faint screens.
//
// For each of 32 bands of rows, and of columns: the median over the line of its second difference to the lines beside it, the largest of the
// band, as sign times log(1 + magnitude). The median leaves the edges of objects out, so that content affects it little.
#pragma once

#include <array>

#include "debias/image/image.h"

namespace debias {

constexpr int kStripeBands = 32, kStripeValues = 2 * kStripeBands;

std::array<float, kStripeValues> stripe_features(const Image& image);  // RGB

}  // namespace debias
