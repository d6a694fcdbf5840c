// How the colour channels of an image relate, and how saturated it is: desaturation, casts, tints of shadows, swapped or blurred channels.
//
// Correlations of two channels' values and steps (Fisher's z); log ratios of the channels' contrast and steps; curvature in relation to
// steps, by channel; strength of the colour differences R - G and B - G in relation to luma; slopes of colour on luma; quantiles of
// saturation and of chroma; shares of pixels with a channel at 0 or 255.
#pragma once

#include <array>

#include "debias/audit/pixel_differences.h"

namespace debias {

constexpr int kColourRelations = 39;

std::array<float, kColourRelations> colour_relations(const PixelDifferences& differences);

}  // namespace debias
