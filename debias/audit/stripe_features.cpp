#include "debias/audit/stripe_features.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace debias {
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
