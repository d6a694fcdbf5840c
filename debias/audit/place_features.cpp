#include "debias/audit/place_features.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace debias {
namespace {

constexpr int kShadingSide = 32, kRowsOfBox = 4;  // about so many rows of a box are read

struct LogLuma {
  int height, width;
  std::vector<float> values;

  float at(int y, int x) const { return values[static_cast<size_t>(y * width + x)]; }
};

// Means over the boxes of a grid.
LogLuma reduced_log_luma(const Image& image) {
  constexpr double kDark = 8;  // steps between darker values are noise
  LogLuma reduced{std::min(image.height, kShadingSide), std::min(image.width, kShadingSide), {}};
  for (int y = 0; y < reduced.height; ++y) {
    const int top = y * image.height / reduced.height, bottom = (y + 1) * image.height / reduced.height;
    for (int x = 0; x < reduced.width; ++x) {
      const int left = x * image.width / reduced.width, right = (x + 1) * image.width / reduced.width;
      int64_t sum = 0, rows = 0;
      for (int row = top; row < bottom; row += std::max(1, (bottom - top) / kRowsOfBox), ++rows) {
        const uint8_t* p = image.row(row) + 3 * left;
        for (int column = left; column < right; ++column, p += 3) sum += 77 * p[0] + 150 * p[1] + 29 * p[2];
      }
      const double mean = static_cast<double>(sum) / 256 / static_cast<double>(rows * (right - left));
      reduced.values.push_back(static_cast<float>(std::log(mean + kDark)));
    }
  }
  return reduced;
}

struct Trend {
  float median = 0, rising = 0;  // in hundredths of brightness; share of rising less falling steps
};

Trend trend_of(std::vector<float>& steps) {
  if (steps.empty()) return {};
  int64_t rising = 0;
  for (const float step : steps) rising += step > 0 ? 1 : step < 0 ? -1 : 0;
  const auto middle = steps.begin() + std::ssize(steps) / 2;
  std::nth_element(steps.begin(), middle, steps.end());
  return {100 * *middle, static_cast<float>(rising) / static_cast<float>(steps.size())};
}

}  // namespace

std::array<float, kShadingValues> shading_features(const Image& image) {
  const LogLuma luma = reduced_log_luma(image);
  std::vector<float> down, right;
  std::array<std::vector<float>, kShadingRings> outwards;
  const double middle_y = (luma.height - 2) / 2.0, middle_x = (luma.width - 2) / 2.0;
  const double farthest = std::max(1e-9, std::hypot(middle_y, middle_x));
  for (int y = 0; y + 1 < luma.height; ++y) {
    for (int x = 0; x + 1 < luma.width; ++x) {
      down.push_back(luma.at(y + 1, x) - luma.at(y, x));
      right.push_back(luma.at(y, x + 1) - luma.at(y, x));
      const double from_y = y - middle_y, from_x = x - middle_x, distance = std::hypot(from_y, from_x);
      if (distance == 0) continue;
      const auto ring = static_cast<size_t>(std::min(kShadingRings * distance / farthest, kShadingRings - 1.0));
      outwards[ring].push_back(static_cast<float>((from_y * down.back() + from_x * right.back()) / distance));
    }
  }
  std::array<float, kShadingValues> out{};
  size_t used = 0;
  const auto add = [&](std::vector<float>& steps) {
    const Trend trend = trend_of(steps);
    out[used++] = trend.median;
    out[used++] = trend.rising;
  };
  add(down);
  add(right);
  for (std::vector<float>& steps : outwards) add(steps);
  return out;
}

namespace {

constexpr int kMostSamples = 32;  // of a line

int luma_at(const Image& image, int y, int x) {
  const uint8_t* p = image.row(y) + 3 * x;
  return 77 * p[0] + 150 * p[1] + 29 * p[2];  // times 256
}

// `extent` lines of `length` pixels; `at(line, position)` is a pixel's luma.
template <class At>
void add_stripes(int extent, int length, const At& at, float* bands) {
  const int stride = std::max(1, length / kMostSamples);
  std::vector<int> differences;
  for (int line = 1; line + 1 < extent; ++line) {
    differences.clear();
    for (int i = 0; i < length; i += stride) differences.push_back(2 * at(line, i) - at(line - 1, i) - at(line + 1, i));
    const auto middle = differences.begin() + std::ssize(differences) / 2;
    std::nth_element(differences.begin(), middle, differences.end());
    const auto median = static_cast<float>(*middle) / 256;
    float& band = bands[line * kStripeBands / extent];
    const float value = std::copysign(std::log1p(std::abs(median)), median);
    if (std::abs(value) > std::abs(band)) band = value;
  }
}

}  // namespace

std::array<float, kStripeValues> stripe_features(const Image& image) {
  std::array<float, kStripeValues> stripes{};
  add_stripes(
      image.height, image.width, [&](int line, int i) { return luma_at(image, line, i); }, stripes.data());
  add_stripes(
      image.width, image.height, [&](int line, int i) { return luma_at(image, i, line); }, stripes.data() + kStripeBands);
  return stripes;
}

}  // namespace debias
