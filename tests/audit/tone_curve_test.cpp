// Quantiles and level use of images whose histograms are known.
#include "debias/audit/texture_features.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/audit/drawn_image.h"

namespace debias {
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
}  // namespace debias
