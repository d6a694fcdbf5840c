#include "debias/audit/pixel_differences.h"

#include <algorithm>
#include <cstdlib>
#include <functional>

namespace debias {
namespace {

constexpr int kSampledRows = 32;
constexpr size_t kSafeTerms = 1024;  // products of values up to 4 * 255 whose sum an int32_t holds

// Red, green, blue and luma of a row.
std::array<std::vector<int32_t>, 4> row_values(const Image& image, int y) {
  const auto width = static_cast<size_t>(image.width);
  std::array<std::vector<int32_t>, 4> out;
  for (auto& values : out) values.resize(width);
  const uint8_t* p = image.row(y);
  for (size_t x = 0; x < width; ++x, p += 3) {
    for (size_t c = 0; c < 3; ++c) out[c][x] = p[c];
    out[3][x] = (77 * p[0] + 150 * p[1] + 29 * p[2] + 32) / (256 / kLumaScale);
  }
  return out;
}

// Into the places from `at` on.
void put_row(const std::vector<int32_t>& row, const std::vector<int32_t>& below, const std::vector<int32_t>& lowest, size_t at,
             PixelPlane& plane) {
  for (size_t x = 0; x + 2 < row.size(); ++x) {
    plane.value[at + x] = row[x];
    plane.step[0][at + x] = row[x + 1] - row[x];
    plane.next_step[0][at + x] = row[x + 2] - row[x + 1];
    plane.step[1][at + x] = below[x] - row[x];
    plane.next_step[1][at + x] = lowest[x] - below[x];
  }
}

void resize_plane(PixelPlane& plane, size_t size) {
  plane.value.resize(size);
  for (size_t d = 0; d < 2; ++d) {
    plane.step[d].resize(size);
    plane.next_step[d].resize(size);
  }
}

}  // namespace

PixelDifferences pixel_differences(const Image& image) {
  PixelDifferences differences;
  if (image.height < 3 || image.width < 3) return differences;
  const int stride = std::max(1, image.height / kSampledRows);
  const auto width = static_cast<size_t>(image.width - 2), rows = static_cast<size_t>((image.height - 3) / stride + 1);
  const auto plane_of = [&](size_t k) -> PixelPlane& { return k < 3 ? differences.channels[k] : differences.luma; };
  for (size_t k = 0; k < 4; ++k) resize_plane(plane_of(k), rows * width);
  for (size_t r = 0; r < rows; ++r) {
    const int y = static_cast<int>(r) * stride;
    const auto row = row_values(image, y), below = row_values(image, y + 1), lowest = row_values(image, y + 2);
    for (size_t k = 0; k < 4; ++k) put_row(row[k], below[k], lowest[k], r * width, plane_of(k));
  }
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
