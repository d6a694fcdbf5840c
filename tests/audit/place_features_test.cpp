// Stripes and shading: signed steps of whole lines, and gradual changes of brightness.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "debias/audit/place_features.h"
#include "tests/audit/drawn_image.h"

namespace debias {
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
}  // namespace debias
