// Tones, frequencies and lines of images whose values are known by hand.
#include "debias/audit/texture_features.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace debias {
namespace texture_features_test {

Image grey(int height, int width, const std::function<double(int y, int x)>& value) {
  Image image{height, width, 3, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) image.pixels.insert(image.pixels.end(), 3, static_cast<uint8_t>(std::lround(value(y, x))));
  }
  return image;
}

TextureFeatures features_of(const Image& image) { return texture_features(image, image, luma_of(image)); }

TEST(TextureFeatures, TonesAreSquareRootsOfShares) {
  const TextureFeatures features = features_of(grey(16, 16, [](int y, int) { return y < 4 ? 7 : 248; }));
  EXPECT_FLOAT_EQ(features.tones.front(), 0.5F);  // a quarter in [0, 8)
  EXPECT_FLOAT_EQ(features.tones.back(), std::sqrt(0.75F));
  EXPECT_EQ(std::ranges::count(features.tones, 0.0F), kTones - 2);
}

// Rows are 40 cos(pi 3 (2 x + 1) / 16), rounded: 33, -8, -39, -22, 22, 39, 8, -33. Their product with the cosine is 2 * 79.47239, times
// sqrt(2 / 8) across and sqrt(8) down.
TEST(TextureFeatures, ACosineIsOneFrequency) {
  const auto wave = [](int, int x) { return 128 + 40 * std::cos(std::acos(-1.0) * 3 * (2 * x + 1) / 16); };
  const TextureFeatures features = features_of(grey(32, 32, wave));
  constexpr size_t kThreeAcross = 3 - 1;  // the constant one is left out
  EXPECT_EQ(std::ranges::max_element(features.frequencies) - features.frequencies.begin(), kThreeAcross);
  EXPECT_NEAR(features.frequencies[kThreeAcross], std::log(79.47239 * 79.47239 * 8), 1e-4);
  EXPECT_NEAR(features.frequencies[8 - 1], std::log(0.05), 1e-4);  // no change downwards
}

TEST(TextureFeatures, ALineIsInItsBandOfRowsOrColumns) {
  const TextureFeatures rows = features_of(grey(64, 48, [](int y, int) { return y == 20 ? 110 : 100; }));
  EXPECT_NEAR(rows.lines[20 / 2], std::log1p(20), 1e-4);  // 2 * 110 - 100 - 100; two rows a band
  EXPECT_NEAR(rows.lines[19 / 2], std::log1p(10), 1e-4);  // 2 * 100 - 100 - 110
  EXPECT_NEAR(rows.lines[17 / 2], 0, 1e-4);
  EXPECT_NEAR(rows.lines[kLineBands + 10], 0, 1e-4);
  const TextureFeatures columns = features_of(grey(48, 64, [](int, int x) { return x == 20 ? 110 : 100; }));
  EXPECT_NEAR(columns.lines[kLineBands + 20 / 2], std::log1p(20), 1e-4);
  EXPECT_NEAR(*std::max_element(columns.lines.begin(), columns.lines.begin() + kLineBands), 0, 1e-4);
}

TEST(TextureFeatures, AnImageOfOnePixelHasFeatures) {
  const TextureFeatures features = features_of(grey(1, 1, [](int, int) { return 9; }));
  EXPECT_FLOAT_EQ(features.tones[1], 1);
  EXPECT_FLOAT_EQ(features.frequencies[0], std::log(0.05F));
  EXPECT_FLOAT_EQ(features.lines[0], 0);
}

}  // namespace texture_features_test
}  // namespace debias
