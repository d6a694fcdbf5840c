#include "debias/audit/pixel_differences.h"

#include <algorithm>
#include <cstdlib>
#include <functional>

namespace debias {
namespace {

constexpr int kSampledRows = 64;
constexpr size_t kSafeTerms = 1024;  // products of values up to 4 * 255 whose sum an int32_t holds

template <class Value>
void add_plane(const Image& image, const Value& value, PixelPlane& plane) {
  const auto add_steps = [](int32_t a, int32_t b, int32_t c, size_t direction, PixelPlane& to) {
    to.step[direction].push_back(b - a);
    to.next_step[direction].push_back(c - b);
  };
  const int stride = std::max(1, image.height / kSampledRows);
  for (int y = 0; y + 2 < image.height; y += stride) {
    const uint8_t* row = image.row(y);
    const uint8_t* below = image.row(y + 1);
    const uint8_t* lowest = image.row(y + 2);
    for (int x = 0; x + 2 < image.width; ++x) {
      const int32_t own = value(row + 3 * x);
      plane.value.push_back(own);
      add_steps(own, value(row + 3 * x + 3), value(row + 3 * x + 6), 0, plane);
      add_steps(own, value(below + 3 * x), value(lowest + 3 * x), 1, plane);
    }
  }
}

}  // namespace

PixelDifferences pixel_differences(const Image& image) {
  PixelDifferences differences;
  for (size_t c = 0; c < 3; ++c) {
    add_plane(
        image, [c](const uint8_t* pixel) { return static_cast<int32_t>(pixel[c]); }, differences.channels[c]);
  }
  add_plane(
      image, [](const uint8_t* p) { return (77 * p[0] + 150 * p[1] + 29 * p[2] + 32) / (256 / kLumaScale); }, differences.luma);
  return differences;
}

int64_t sum_of(std::span<const int32_t> values) {
  int64_t sum = 0;
  for (const int32_t value : values) sum += value;
  return sum;
}

int64_t sum_of_magnitudes(std::span<const int32_t> values) {
  int64_t sum = 0;
  for (const int32_t value : values) sum += std::abs(value);
  return sum;
}

int64_t sum_of_products(std::span<const int32_t> a, std::span<const int32_t> b) {
  int64_t sum = 0;
  for (size_t first = 0; first < a.size(); first += kSafeTerms) {
    int32_t part = 0;
    for (size_t i = first; i < std::min(a.size(), first + kSafeTerms); ++i) part += a[i] * b[i];
    sum += part;
  }
  return sum;
}

std::vector<int32_t> minus(std::span<const int32_t> a, std::span<const int32_t> b) {
  std::vector<int32_t> difference(a.size());
  std::ranges::transform(a, b, difference.begin(), std::minus<>());
  return difference;
}

}  // namespace debias
