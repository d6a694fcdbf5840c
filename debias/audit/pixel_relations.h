// Values of pixels and their differences to the next ones, of red, green, blue and luma, as planes of equal length.
//
// Large images are sampled: 32 to 63 rows. An image of fewer than 3 x 3 pixels has empty planes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "debias/image/image.h"

namespace debias {

constexpr int kLumaScale = 4;  // luma is 0 to 4 * 255

enum class Direction { kRight, kDown };
constexpr std::array<Direction, 2> kBothDirections = {Direction::kRight, Direction::kDown};

struct PixelPlane {
  std::vector<int32_t> value;
  std::array<std::vector<int32_t>, 2> step, next_step;  // by Direction: to the next pixel, and from that to the one after

  const std::vector<int32_t>& first(Direction direction) const { return step[static_cast<size_t>(direction)]; }
  const std::vector<int32_t>& second(Direction direction) const { return next_step[static_cast<size_t>(direction)]; }
};

struct PixelDifferences {
  std::array<PixelPlane, 3> channels;
  PixelPlane luma;
};

PixelDifferences pixel_differences(const Image& image);  // RGB

// Exact sums; those of products are of values up to 4 * 255.
int64_t sum_of(std::span<const int32_t> values);
int64_t sum_of_magnitudes(std::span<const int32_t> values);
int64_t sum_of_products(std::span<const int32_t> a, std::span<const int32_t> b);

std::vector<int32_t> minus(std::span<const int32_t> a, std::span<const int32_t> b);

// How the channels of an image are shifted and blurred against each other: lateral chromatic aberration, demosaicing, chroma subsampling.
//
// For each pair of channels and each direction the correlation of one's steps with the other's next steps, less that with the channels
// exchanged; then the log ratio of red's (blue's) curvature to steps and that of green, for each direction. The content of an image affects
// both little.
constexpr int kFringeValues = 10;

std::array<float, kFringeValues> colour_fringes(const PixelDifferences& differences);

// How the colour channels of an image relate, and how saturated it is: desaturation, casts, tints of shadows, swapped or blurred channels.
//
// Correlations of two channels' values and steps (Fisher's z); log ratios of the channels' contrast and steps; curvature in relation to
// steps, by channel; strength of the colour differences R - G and B - G in relation to luma; slopes of colour on luma; quantiles of
// saturation and of chroma; shares of pixels with a channel at 0 or 255.
constexpr int kColourRelations = 39;

std::array<float, kColourRelations> colour_relations(const PixelDifferences& differences);

// Shares of pairs of neighbouring steps of luma, along rows and along columns: filters, resampling, noise and compression change how one
// step follows another.
//
// Steps are divided by 0.8 of their mean magnitude in the image and rounded to -2 to 2. A pair and its negative are counted together. Values
// are square roots of shares. Source: Pevny, Bas and Fridrich, "Steganalysis by subtractive pixel adjacency matrix" (2010).
constexpr int kStepPairValues = 26;  // 13 for each direction

std::array<float, kStepPairValues> step_pairs(const PixelDifferences& differences);

}  // namespace debias
