// Which of the candidates count as copies.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <vector>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/data/jpeg_encode.h"
#include "debias/image/geometry.h"
#include "debias/image/image_decode.h"
#include "debias/mining/copied_images.h"

namespace debias {
namespace copied_images_test {

// Detail at several sizes, as photographs have: sums of blurred noise.
Image scene(uint64_t seed, int side = 96) {
  Random draw({.seed = seed});
  std::vector<double> sum(static_cast<size_t>(side) * static_cast<size_t>(side) * 3, 0);
  for (const int cells : {4, 9, 20}) {
    Image noise{cells, cells, 3, std::vector<uint8_t>(static_cast<size_t>(cells) * static_cast<size_t>(cells) * 3)};
    for (uint8_t& value : noise.pixels) value = static_cast<uint8_t>(draw.below(256));
    const Image large = resized(noise, side, side);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += large.pixels[i] / 3.0;
  }
  Image image{side, side, 3, std::vector<uint8_t>(sum.size())};
  for (size_t i = 0; i < sum.size(); ++i) image.pixels[i] = static_cast<uint8_t>(sum[i]);
  return image;
}

Image compressed(const Image& image, int quality) { return decode_image(encode_jpeg(image, quality), "memory"); }
Image cropped(const Image& image, double share, int corner) {
  const int side = static_cast<int>(image.height * share), rest = image.height - side;
  return resized_crop(image, {corner / 2 * rest, corner % 2 * rest, side, side}, side, side);
}
Image flipped(Image image) {
  mirror_horizontally(image);
  return image;
}
Image brighter(Image image) {
  for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(std::min(255, value + 10));
  return image;
}

TEST(ImageComparison, LeavesOutWhatCannotBeReadOrHasNoDetail) {
  const auto read = [](int64_t row) {
    if (row == 3) throw data_error("no such image");
    if (row == 4) return Image{40, 40, 3, std::vector<uint8_t>(40 * 40 * 3, 200)};
    return row == 5 ? compressed(scene(1), 50) : scene(row == 2 ? 2 : 1);
  };
  ImageComparison comparison(read);
  EXPECT_EQ(comparison.compare({{0, 1}, {0, 2}, {0, 3}, {4, 4}, {0, 5}}, Progress::silent()),
            (std::vector<Likeness>{Likeness::kCopy, Likeness::kNone, Likeness::kNone, Likeness::kNone, Likeness::kCopy}));
  EXPECT_EQ(comparison.unreadable(), std::vector<int64_t>{3});
  EXPECT_EQ(comparison.flat(), std::vector<int64_t>{4});
  EXPECT_EQ(comparison.first_unreadable(), "no such image");
  EXPECT_EQ(comparison.images(), 5);
  EXPECT_FALSE(comparison.comparable(4));
  EXPECT_TRUE(comparison.comparable(0));
}

// Images are read again where few are kept; nothing else changes.
TEST(ImageComparison, DoesNotDependOnHowManyImagesAreKept) {
  std::atomic<int64_t> reads = 0;
  const auto read = [&](int64_t row) {
    ++reads;
    return row % 3 == 1 ? flipped(scene(static_cast<uint64_t>(row - 1))) : scene(static_cast<uint64_t>(row));
  };
  std::vector<RowPair> pairs;
  for (int64_t a = 0; a < 12; ++a) {
    for (int64_t b = a + 1; b < 12; ++b) pairs.emplace_back(a, b);
  }
  const std::vector<Likeness> all = ImageComparison(read).compare(pairs, Progress::silent());
  EXPECT_EQ(reads, 12);
  EXPECT_EQ(std::ranges::count(all, Likeness::kCopy), 4);
  EXPECT_EQ(ImageComparison(read, 4).compare(pairs, Progress::silent()), all);
}

// Copies are known after compression, crop, flip and resizing; images that merely look alike are none.

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

TEST(CopyThumbnail, TakesImagesWithoutDetailForCopiesOfNothing) {
  const auto plain = [](uint8_t value) { return Image{40, 40, 3, std::vector<uint8_t>(40 * 40 * 3, value)}; };
  EXPECT_TRUE(unlike(plain(100), plain(100)));
  EXPECT_TRUE(unlike(plain(100), scene(1)));
  EXPECT_TRUE(CopyThumbnail(plain(9)).is_flat());
  EXPECT_FALSE(CopyThumbnail(scene(1)).is_flat());
}

}  // namespace copied_images_test
}  // namespace debias
