// Tones, frequencies and lines of images whose values are known by hand.
#include "debias/audit/texture_features.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "debias/audit/pixel_relations.h"
#include "debias/audit/place_features.h"
#include "tests/audit/drawn_image.h"

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

// Quantiles and level use of images whose histograms are known.
namespace tone_curve_test {

constexpr size_t kOfChannel = kLevelUseValues / 3;

TEST(ToneCurve, QuantilesAreLevelsOfLumaAndChannels) {
  const ToneCurve curve = tone_curve(drawn_image(10, 20, [](int y, int x) { return Rgb{static_cast<uint8_t>(20 * y + x), 51, 255}; }));
  EXPECT_FLOAT_EQ(curve.quantiles[11], 0);            // least red
  EXPECT_FLOAT_EQ(curve.quantiles[13], 99.0F / 255);  // the hundredth of 0 to 199
  EXPECT_FLOAT_EQ(curve.quantiles[15], 199.0F / 255);
  EXPECT_FLOAT_EQ(curve.quantiles[18], 51.0F / 255);  // green
  EXPECT_FLOAT_EQ(curve.quantiles[23], 1);            // blue
}

TEST(ToneCurve, ACurveOfAFewLevelsLeavesGaps) {
  const auto all = tone_curve(drawn_grey(16, 16, [](int y, int x) { return 16 * y + x; })).use;
  const auto even = tone_curve(drawn_grey(16, 16, [](int y, int x) { return (16 * y + x) / 2 * 2; })).use;
  EXPECT_FLOAT_EQ(all[3], 0.25F);  // 0 modulo 4
  EXPECT_FLOAT_EQ(even[3], 0.5F);
  EXPECT_FLOAT_EQ(even[4], 0);
  EXPECT_NEAR(all[0], -std::log(255.0), 1e-4);  // flat: no second differences, noise 254
  EXPECT_NEAR(even[0], std::log((254 * 4 + 1) / (127 * std::sqrt(2 / 3.0) + 127 * std::sqrt(4 / 3.0) + 1)), 1e-4);
  EXPECT_GT(even[2], 0);  // gaps
  EXPECT_LT(all[2], 0);   // fewer than the exp(-1) of each level that sampling leaves
}

TEST(ToneCurve, AClippedEndIsAPeak) {
  const auto use = tone_curve(drawn_grey(16, 16, [](int y, int x) { return std::min(16 * y + x, 200); })).use;
  EXPECT_NEAR(use[9], std::log(57 / 2.0), 1e-4);  // 56 pixels at the upper end, 1 on each level below
  EXPECT_NEAR(use[8], 0, 1e-4);
  EXPECT_FLOAT_EQ(use[kOfChannel + 9], use[9]);
}

}  // namespace tone_curve_test

// Stripes and shading: signed steps of whole lines, and gradual changes of brightness.
namespace place_features_test {

TEST(StripeFeatures, ALineHasItsSignInItsBand) {
  const auto dark = stripe_features(drawn_grey(64, 48, [](int y, int) { return y == 20 ? 90 : 100; }));
  EXPECT_NEAR(dark[20 / 2], -std::log1p(20), 1e-4);  // 2 * 90 - 100 - 100; two rows a band
  EXPECT_NEAR(dark[19 / 2], std::log1p(10), 1e-4);
  EXPECT_EQ(dark[17 / 2], 0);
  for (size_t i = kStripeBands; i < kStripeValues; ++i) EXPECT_EQ(dark[i], 0) << i;
  const auto light = stripe_features(drawn_grey(48, 64, [](int, int x) { return x == 20 ? 110 : 100; }));
  EXPECT_NEAR(light[kStripeBands + 20 / 2], std::log1p(20), 1e-4);
}

TEST(StripeFeatures, TheEdgeOfAnObjectIsNoStripe) {
  const auto found = stripe_features(drawn_grey(32, 32, [](int y, int x) { return y >= 10 && y < 20 && x >= 8 && x < 22 ? 200 : 50; }));
  for (const float value : found) EXPECT_EQ(value, 0);
}

TEST(ShadingFeatures, LightFromTheLeftFallsToTheRight) {
  const auto found = shading_features(drawn_grey(64, 64, [](int, int x) { return 200 - 2 * x; }));
  EXPECT_EQ(found[0], 0);  // down
  EXPECT_EQ(found[1], 0);
  EXPECT_LT(found[2], -1.5F);  // about 4 of 150 a step
  EXPECT_EQ(found[3], -1);
}

TEST(ShadingFeatures, AVignetteFallsOutwardsInEveryRing) {
  const auto found = shading_features(drawn_grey(33, 33, [](int y, int x) {
    const int distance = (y - 16) * (y - 16) + (x - 16) * (x - 16);
    return 220 - distance / 3;
  }));
  for (size_t ring = 1; ring < kShadingRings; ++ring) {
    EXPECT_LT(found[4 + 2 * ring], 0) << ring;
    EXPECT_LT(found[5 + 2 * ring], -0.8F) << ring;
  }
  EXPECT_NEAR(found[1], 0, 0.1);  // up and down alike
}

TEST(ShadingFeatures, AnImageOfOnePixelHasNone) {
  for (const float value : shading_features(drawn_grey(1, 1, [](int, int) { return 9; }))) EXPECT_EQ(value, 0);
  for (const float value : stripe_features(drawn_grey(1, 1, [](int, int) { return 9; }))) EXPECT_EQ(value, 0);
}

}  // namespace place_features_test

// Differences of neighbours, and what colours, fringes and step pairs make of them.
namespace pixel_relations_test {

// Rough values without a pattern.
int value_at(int y, int x) { return (y * y * 37 + x * x * 53 + x * y * 19) % 97 + 60; }

TEST(PixelDifferences, StepsAreToTheRightAndDown) {
  const PixelDifferences found = pixel_differences(drawn_image(3, 4, [](int y, int x) { return Rgb{uint8_t(10 * y * y + x * x), 0, 0}; }));
  const PixelPlane& red = found.channels[0];
  EXPECT_EQ(red.value, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(red.first(Direction::kRight), (std::vector<int32_t>{1, 3}));
  EXPECT_EQ(red.second(Direction::kRight), (std::vector<int32_t>{3, 5}));
  EXPECT_EQ(red.first(Direction::kDown), (std::vector<int32_t>{10, 10}));
  EXPECT_EQ(red.second(Direction::kDown), (std::vector<int32_t>{30, 30}));
}

TEST(PixelDifferences, LumaOfWhiteIsTheEndOfItsRange) {
  const PixelDifferences found = pixel_differences(drawn_grey(3, 3, [](int, int) { return 255; }));
  EXPECT_EQ(found.luma.value.front(), kLumaScale * 255);
}

TEST(PixelDifferences, ATinyImageHasNone) {
  const PixelDifferences found = pixel_differences(drawn_grey(2, 9, [](int, int x) { return x; }));
  EXPECT_TRUE(found.luma.value.empty());
  for (const float value : colour_relations(found)) EXPECT_TRUE(std::isfinite(value));
  for (const float value : colour_fringes(found)) EXPECT_TRUE(std::isfinite(value));
  for (const float value : step_pairs(found)) EXPECT_EQ(value, 0);
}

TEST(PixelDifferences, SumsOfManyLargeProductsAreExact) {
  const std::vector<int32_t> large(100'000, 4 * 255);
  EXPECT_EQ(sum_of_products(large, large), int64_t{100'000} * 1020 * 1020);
}

TEST(ColourRelations, GreyHasEqualChannelsAndNoSaturation) {
  const auto relations = colour_relations(pixel_differences(drawn_grey(32, 32, value_at)));
  for (size_t i = 0; i < 9; ++i) EXPECT_NEAR(relations[i], std::atanh(0.999), 1e-3) << i;
  for (size_t i = 9; i < 13; ++i) EXPECT_NEAR(relations[i], 0, 1e-6) << i;  // contrast and steps of red and blue, to green's
  for (size_t i = 24; i < 36; ++i) EXPECT_EQ(relations[i], 0) << i;         // saturation and chroma
}

TEST(ColourRelations, HalfOfTheRedContrastIsItsLogRatio) {
  const auto relations = colour_relations(pixel_differences(drawn_image(32, 32, [](int y, int x) {
    const int value = value_at(y, x);
    return Rgb{static_cast<uint8_t>(100 + value / 2), static_cast<uint8_t>(value), static_cast<uint8_t>(value)};
  })));
  EXPECT_NEAR(relations[10], std::log(0.5), 0.02);  // steps of red and green
  EXPECT_NEAR(relations[9], std::log(0.5), 0.04);
  EXPECT_NEAR(relations[12], 0, 1e-6);
}

TEST(ColourFringes, AShiftedChannelIsInItsDirection) {
  const auto plain = colour_fringes(pixel_differences(drawn_grey(32, 32, value_at)));
  for (const float value : plain) EXPECT_NEAR(value, 0, 1e-6);
  const auto shifted = colour_fringes(pixel_differences(drawn_image(32, 32, [](int y, int x) {
    const auto own = static_cast<uint8_t>(value_at(y, x)), right = static_cast<uint8_t>(value_at(y, x + 1));
    return Rgb{own, right, right};
  })));
  EXPECT_GT(shifted[0], 0.7F);             // red's next step is green's step
  EXPECT_NEAR(shifted[1], 0, 1e-6);        // green and blue
  EXPECT_LT(std::abs(shifted[5]), 0.35F);  // down
}

TEST(StepPairs, ARampRisesTwiceAndARippleTurns) {
  const auto ramp = step_pairs(pixel_differences(drawn_grey(16, 16, [](int, int x) { return 10 * x; })));
  EXPECT_FLOAT_EQ(ramp[0], 1);        // (2, 2) and (-2, -2), to the right
  EXPECT_FLOAT_EQ(ramp[13 + 12], 1);  // (0, 0), down
  const auto ripple = step_pairs(pixel_differences(drawn_grey(16, 16, [](int, int x) { return x % 2 == 0 ? 100 : 120; })));
  EXPECT_FLOAT_EQ(ripple[4], 1);  // (-2, 2) and (2, -2)
  EXPECT_FLOAT_EQ(ripple[0], 0);
}

}  // namespace pixel_relations_test
}  // namespace debias
