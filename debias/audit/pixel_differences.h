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

}  // namespace debias
