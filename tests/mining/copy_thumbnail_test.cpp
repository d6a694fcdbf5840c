// Copies are known after compression, crop, flip and resizing; images that merely look alike are none.
#include "debias/mining/copied_images.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/mining/scenes.h"

namespace debias {
namespace copy_thumbnail_test {

Likeness likeness(const Image& a, const Image& b) {
  const Likeness one_way = CopyThumbnail(a).likeness(CopyThumbnail(b));
  EXPECT_EQ(one_way, CopyThumbnail(b).likeness(CopyThumbnail(a)));
  return one_way;
}
bool copies(const Image& a, const Image& b) { return likeness(a, b) == Likeness::kCopy; }
bool unlike(const Image& a, const Image& b) { return likeness(a, b) == Likeness::kNone; }

TEST(CopyThumbnail, KnowsAnImageAgain) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const Image image = scene(seed);
    EXPECT_TRUE(copies(image, image));
    EXPECT_TRUE(copies(image, compressed(image, 40))) << seed;
    EXPECT_TRUE(copies(image, flipped(image))) << seed;
    EXPECT_TRUE(copies(image, resized(image, 61, 140))) << seed;
    for (int corner = 0; corner < 4; ++corner) EXPECT_TRUE(copies(image, cropped(image, 0.9, corner))) << seed << " " << corner;
    EXPECT_TRUE(copies(image, compressed(flipped(cropped(image, 0.93, 1)), 60))) << seed;
  }
}

TEST(CopyThumbnail, TellsLookAlikesApart) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const Image image = scene(seed);
    EXPECT_TRUE(unlike(image, scene(seed + 100))) << seed;
    Image recoloured = image;
    for (size_t i = 0; i < recoloured.pixels.size(); i += 3)
      recoloured.pixels[i] = static_cast<uint8_t>(std::min(255, recoloured.pixels[i] + 60));
    EXPECT_TRUE(unlike(image, recoloured)) << seed;
    Image shared_background = image;  // another object in the middle
    const Image other = scene(seed + 200);
    for (int y = 20; y < 76; ++y) {
      const auto from = static_cast<ptrdiff_t>((y * 96 + 20) * 3), to = static_cast<ptrdiff_t>((y * 96 + 76) * 3);
      std::copy(other.pixels.begin() + from, other.pixels.begin() + to, shared_background.pixels.begin() + from);
    }
    EXPECT_TRUE(unlike(image, shared_background)) << seed;
  }
}

// A drawn ring with a mark in the corner; every pixel has noise of its own.
Image ring(double radius, std::array<int, 3> background, uint64_t seed) {
  Random draw({.seed = seed});
  Image image{48, 48, 3, {}};
  for (int y = 0; y < 48; ++y) {
    for (int x = 0; x < 48; ++x) {
      const bool marked = y >= 2 && y < 13 && x >= 2 && x < 13, drawn = std::abs(std::hypot(y - 25, x - 25) - radius) < 2;
      const std::array<int, 3> colour = marked ? std::array{246, 20, 20} : drawn ? std::array{235, 235, 235} : background;
      for (const int value : colour) image.pixels.push_back(static_cast<uint8_t>(value + draw.below(17) - 8));
    }
  }
  return image;
}

TEST(CopyThumbnail, TakesDrawingsThatDifferByMoreThanNoiseForNoCopies) {
  const std::array<int, 3> green = {40, 150, 50}, darker = {30, 140, 40};
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    const Image image = ring(13, green, seed);
    EXPECT_TRUE(copies(image, compressed(image, 40))) << seed;
    EXPECT_EQ(likeness(image, ring(13, darker, seed + 50)), Likeness::kLookAlike) << seed;
    EXPECT_EQ(likeness(image, ring(15, green, seed + 50)), Likeness::kLookAlike) << seed;
  }
}

TEST(CopyThumbnail, TakesABrighterCopyForALookAlike) {
  for (uint64_t seed = 1; seed <= 4; ++seed) EXPECT_EQ(likeness(scene(seed), brighter(scene(seed))), Likeness::kLookAlike) << seed;
}

TEST(CopyThumbnail, ComparesImagesWithoutDetailByTheirColour) {
  const auto plain = [](uint8_t value) { return Image{40, 40, 3, std::vector<uint8_t>(40 * 40 * 3, value)}; };
  EXPECT_TRUE(copies(plain(100), plain(101)));
  EXPECT_TRUE(unlike(plain(100), plain(120)));
  EXPECT_TRUE(unlike(plain(100), scene(1)));
  EXPECT_TRUE(copies(plain(9), Image{5, 7, 1, std::vector<uint8_t>(35, 9)}));  // grey is colour three times
}

}  // namespace copy_thumbnail_test
}  // namespace debias
