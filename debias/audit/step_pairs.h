// Shares of pairs of neighbouring steps of luma, along rows and along columns: filters, resampling, noise and compression change how one
// step follows another.
//
// Steps are divided by 0.8 of their mean magnitude in the image and rounded to -2 to 2. A pair and its negative are counted together. Values
// are square roots of shares. Source: Pevny, Bas and Fridrich, "Steganalysis by subtractive pixel adjacency matrix" (2010).
#pragma once

#include <array>

#include "debias/audit/pixel_differences.h"

namespace debias {

constexpr int kStepPairValues = 26;  // 13 for each direction

std::array<float, kStepPairValues> step_pairs(const PixelDifferences& differences);

}  // namespace debias
