// Differences of neighbours, and what colours, fringes and step pairs make of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "debias/audit/pixel_relations.h"
#include "tests/audit/drawn_image.h"

namespace debias {
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
