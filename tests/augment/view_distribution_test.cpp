// Distributions of what the random steps draw.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>

#include "debias/augment/colour_steps.h"
#include "debias/augment/crop_steps.h"
#include "debias/augment/view_pipeline.h"
#include "debias/core/registry.h"
#include "tests/image/test_images.h"

namespace debias {
namespace view_distribution_test {

constexpr int kDraws = 20000;

// Kolmogorov-Smirnov distance of values from the uniform distribution on [0, 1].
double uniform_distance(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  double distance = 0;
  const auto n = static_cast<double>(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    distance = std::max({distance, std::abs(values[i] - static_cast<double>(i) / n), std::abs(values[i] - static_cast<double>(i + 1) / n)});
  }
  return distance;
}

const double kAccepted = 2.0 / std::sqrt(kDraws);  // exceeded by chance with probability 7e-4, and the draws are fixed

std::unique_ptr<ViewStep> make_step(const std::string& name, const std::string& yaml) {
  return find_entry(view_step_registry(), name, "view step").make(parse_yaml(yaml, ""));
}

TEST(RandomResizedBox, AreaIsUniformAndAspectLogUniformWhereNothingIsRejected) {
  std::vector<double> areas, aspects;
  for (uint64_t i = 0; i < kDraws; ++i) {
    Random random(sample_key(i));
    const Box box = random_resized_box(4000, 4000, {0.08, 0.5}, {0.75, 4.0 / 3}, random);
    areas.push_back((static_cast<double>(box.height) * box.width / 16e6 - 0.08) / 0.42);
    aspects.push_back((std::log(static_cast<double>(box.width) / box.height) - std::log(0.75)) / (std::log(4.0 / 3) - std::log(0.75)));
  }
  EXPECT_LT(uniform_distance(areas), kAccepted);
  EXPECT_LT(uniform_distance(aspects), kAccepted);
}

TEST(RandomResizedBox, PlacesAreUniformIncludingTheLast) {
  std::map<int, int> tops;
  for (uint64_t i = 0; i < kDraws; ++i) {
    Random random(sample_key(i));
    const Box box = random_resized_box(8, 8, {0.25, 0.25}, {1, 1}, random);  // always 4 x 4
    ASSERT_EQ(box.height, 4);
    ++tops[box.top];
  }
  ASSERT_EQ(tops.size(), 5u);
  for (const auto& [top, count] : tops) EXPECT_NEAR(count, kDraws / 5, 5 * std::sqrt(kDraws / 5)) << top;
}

TEST(RandomResizedBox, FallsBackToTheLargestCentredBox) {
  Random random(sample_key(0));
  const Box wide = random_resized_box(10, 100, {1, 1}, {0.5, 2}, random);  // 10 x 100 never has aspect 2
  EXPECT_EQ(std::vector<int>({wide.top, wide.left, wide.height, wide.width}), std::vector<int>({0, 40, 10, 20}));
  const Box tall = random_resized_box(101, 10, {1, 1}, {0.5, 2}, random);
  EXPECT_EQ(std::vector<int>({tall.top, tall.left, tall.height, tall.width}), std::vector<int>({40, 0, 20, 10}));
  const Box whole = random_resized_box(10, 10, {2, 2}, {0.5, 2}, random);
  EXPECT_EQ(std::vector<int>({whole.top, whole.left, whole.height, whole.width}), std::vector<int>({0, 0, 10, 10}));
}

TEST(RandomHorizontalFlip, FlipsWithProbabilityP) {
  const Image image = noise_image(2, 3, 3);
  for (const double p : {0.0, 0.3, 1.0}) {
    const auto step = make_step("random_horizontal_flip", fmt::format("{{p: {}}}", p));
    int flipped = 0;
    for (uint64_t i = 0; i < kDraws; ++i) {
      Image copy = image;
      step->apply(copy, sample_key(i));
      flipped += !(copy == image);
    }
    EXPECT_NEAR(flipped, p * kDraws, 5 * std::sqrt(p * (1 - p) * kDraws)) << p;
  }
}

TEST(ColorJitter, OrdersAreEquallyLikelyAndFactorsUniform) {
  std::map<std::array<ColorAdjustment, 4>, int> orders;
  std::vector<double> brightness, contrast, saturation, hue;
  for (uint64_t i = 0; i < kDraws; ++i) {
    Random random(sample_key(i));
    const JitterDraw draw = draw_jitter(Spread::number(0.4), Spread::number(1.5), Spread::between(0.2, 0.7), Spread::number(0.1), random);
    ++orders[draw.order];
    brightness.push_back((draw.brightness - 0.6) / 0.8);
    contrast.push_back(draw.contrast / 2.5);  // [max(0, -0.5), 2.5]
    saturation.push_back((draw.saturation - 0.2) / 0.5);
    hue.push_back((draw.hue + 0.1) / 0.2);
  }
  EXPECT_EQ(orders.size(), 24u);
  for (const auto& entry : orders) EXPECT_NEAR(entry.second, kDraws / 24, 5 * std::sqrt(kDraws / 24));
  for (const auto& factors : {brightness, contrast, saturation, hue}) EXPECT_LT(uniform_distance(factors), kAccepted);
}

TEST(ColorJitter, ActsWithProbabilityP) {
  const auto step = make_step("color_jitter", "{brightness: [0, 0], p: 0.8}");
  int black = 0;
  for (uint64_t i = 0; i < kDraws; ++i) {
    Image image{1, 1, 3, {200, 100, 50}};
    step->apply(image, sample_key(i));
    black += image.pixels[0] == 0;
  }
  EXPECT_NEAR(black, 0.8 * kDraws, 5 * std::sqrt(0.16 * kDraws));
}

TEST(ColorJitter, WithoutFactorsChangesNothing) {
  const auto step = make_step("color_jitter", "{}");
  for (uint64_t i = 0; i < 20; ++i) {
    Image image = noise_image(8, 8, 3);
    step->apply(image, sample_key(i));
    EXPECT_TRUE(image == noise_image(8, 8, 3));
  }
}

TEST(RandomGrayscale, ActsWithProbabilityP) {
  const auto step = make_step("random_grayscale", "{p: 0.2}");
  int grey = 0;
  for (uint64_t i = 0; i < kDraws; ++i) {
    Image image{1, 1, 3, {200, 100, 50}};
    step->apply(image, sample_key(i));
    grey += image.pixels[0] == image.pixels[2];
  }
  EXPECT_NEAR(grey, 0.2 * kDraws, 5 * std::sqrt(0.16 * kDraws));
}

// The centre pixel of a white dot on black, blurred with k = 3, is 255 w0^2 with w0 = 1 / (1 + 2 exp(-1 / (2 sigma^2))).
TEST(GaussianBlur, SigmaIsUniform) {
  const auto step = make_step("gaussian_blur", "{kernel_size: 3, sigma: [0.5, 1.0]}");
  std::vector<double> sigmas;
  for (uint64_t i = 0; i < 4000; ++i) {
    Image image{5, 5, 1, std::vector<uint8_t>(25)};
    image.pixels[12] = 255;
    step->apply(image, sample_key(i));
    const double w0 = std::sqrt(image.pixels[12] / 255.0);
    sigmas.push_back((1 / std::sqrt(2 * std::log(2 * w0 / (1 - w0))) - 0.5) / 0.5);
  }
  EXPECT_LT(uniform_distance(sigmas), 2.0 / std::sqrt(4000) + 0.02);  // plus the rounding of the pixel
}

TEST(RandomCrop, EveryPlaceInThePaddedImageIsEquallyLikely) {
  const auto step = make_step("random_crop", "{size: 2, padding: 1}");
  std::map<std::vector<uint8_t>, int> views;
  for (uint64_t i = 0; i < kDraws; ++i) {
    Image image{2, 2, 1, {1, 2, 3, 4}};
    step->apply(image, sample_key(i));
    ++views[image.pixels];
  }
  ASSERT_EQ(views.size(), 9u);
  for (const auto& entry : views) EXPECT_NEAR(entry.second, kDraws / 9, 5 * std::sqrt(kDraws / 9));
}

TEST(RandomRotation, TurnsBothWaysWithinDegrees) {
  // At (row 0, column 9) of a 19 x 19 image the white pixel above the centre moves left for counter-clockwise turns.
  const auto step = make_step("random_rotation", "{degrees: 20}");
  int left = 0, right = 0;
  for (uint64_t i = 0; i < 500; ++i) {
    Image image{19, 19, 1, std::vector<uint8_t>(361)};
    image.pixels[2 * 19 + 9] = 255;
    step->apply(image, sample_key(i));
    for (int y = 0; y < 19; ++y) {
      for (int x = 0; x < 19; ++x) {
        if (image.row(y)[x] == 0) continue;
        left += x < 9;
        right += x > 9;
        EXPECT_NEAR(x, 9, 3.5);  // 7 sin 20 = 2.4, and half a pixel twice
      }
    }
  }
  EXPECT_GT(left, 100);
  EXPECT_GT(right, 100);
}

}  // namespace view_distribution_test
}  // namespace debias
