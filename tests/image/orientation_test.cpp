// Photographs turned as their camera noted: whole ones and parts, at their own and at reduced sizes, against the formula of each of the
// eight orientations written out pixel by pixel. Sizes are odd, and no multiples of a block or of a denominator.
#include "debias/image/exif.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "debias/data/readers/image_folder.h"
#include "debias/image/image_decode.h"
#include "tests/data/fixture_files.h"

namespace debias {
namespace orientation_test {

using namespace fixture;

enum class Order { kLittle, kBig };

void put(Bytes& bytes, uint32_t value, size_t size, Order order) {
  for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<uint8_t>(value >> 8 * (order == Order::kBig ? size - 1 - i : i)));
}

Bytes exif_block(uint32_t tag, Order order, uint32_t kind = 3) {
  Bytes block = order == Order::kBig ? Bytes{'M', 'M'} : Bytes{'I', 'I'};
  put(block, 42, 2, order);
  put(block, 8, 4, order);
  put(block, 2, 2, order);  // entries
  for (const auto& [key, value] : {std::pair{0x0100u, 99u}, std::pair{0x0112u, tag}}) {
    put(block, key, 2, order);
    put(block, kind, 2, order);
    put(block, 1, 4, order);
    put(block, value, kind == 3 ? 2 : 4, order);
    if (kind == 3) put(block, 0, 2, order);
  }
  put(block, 0, 4, order);
  return block;
}

Bytes with_exif(Bytes jpeg, const Bytes& block) {
  Bytes segment = {0xff, 0xe1};
  put(segment, static_cast<uint32_t>(block.size() + 8), 2, Order::kBig);
  for (const char c : {'E', 'x', 'i', 'f', '\0', '\0'}) segment.push_back(static_cast<uint8_t>(c));
  segment.insert(segment.end(), block.begin(), block.end());
  jpeg.insert(jpeg.begin() + 2, segment.begin(), segment.end());
  return jpeg;
}

Bytes photograph(int height, int width, uint32_t tag, Order order = Order::kBig) {
  Image image{height, width, 3, ramp(static_cast<size_t>(height) * width * 3, 37)};
  return with_exif(jpeg(image.pixels, height, width, TJPF_RGB, TJSAMP_420, 85), exif_block(tag, order));
}

// EXIF 2.3, 4.6.4 A: which stored pixel is at the shown row y and column x.
std::pair<int, int> stored_place(int tag, int y, int x, int height, int width) {
  switch (tag) {
    case 2:
      return {y, width - 1 - x};
    case 3:
      return {height - 1 - y, width - 1 - x};
    case 4:
      return {height - 1 - y, x};
    case 5:
      return {x, y};
    case 6:
      return {height - 1 - x, y};
    case 7:
      return {height - 1 - x, width - 1 - y};
    case 8:
      return {x, width - 1 - y};
    default:
      return {y, x};
  }
}

Image turned_by_hand(const Image& stored, int tag) {
  Image shown{stored.height, stored.width, 3, {}};
  if (tag >= 5) std::swap(shown.height, shown.width);
  for (int y = 0; y < shown.height; ++y) {
    for (int x = 0; x < shown.width; ++x) {
      const auto [row, column] = stored_place(tag, y, x, stored.height, stored.width);
      const uint8_t* pixel = stored.row(row) + 3 * column;
      shown.pixels.insert(shown.pixels.end(), pixel, pixel + 3);
    }
  }
  return shown;
}

Bytes cropped(const Image& image, const Box& box) {
  Bytes pixels;
  for (int y = box.top; y < box.top + box.height; ++y) {
    const uint8_t* row = image.row(y) + 3 * box.left;
    pixels.insert(pixels.end(), row, row + 3 * box.width);
  }
  return pixels;
}

RegionChooser all_at(int denominator) {
  return [denominator](int height, int width) {
    return ImageRegion{{0, 0, (height + denominator - 1) / denominator, (width + denominator - 1) / denominator}, denominator};
  };
}

class EveryOrientation : public testing::TestWithParam<int> {};

TEST_P(EveryOrientation, TurnsTheWholeImage) {
  const Bytes bytes = photograph(45, 70, static_cast<uint32_t>(GetParam()));
  const Image stored = decode_image(bytes, "a.jpg");
  EXPECT_EQ(stored.height, 45) << "the default leaves it as it is";
  const Image shown = decode_image(bytes, "a.jpg", ExifOrientation::kApplied);
  const Image expected = turned_by_hand(stored, GetParam());
  EXPECT_EQ(shown.height, expected.height);
  EXPECT_EQ(shown.width, expected.width);
  EXPECT_EQ(shown.pixels, expected.pixels);
}

TEST_P(EveryOrientation, GivesPartsOfTheTurnedImage) {
  const int tag = GetParam();
  const Bytes bytes = photograph(45, 70, static_cast<uint32_t>(tag));
  for (const int denominator : {1, 2, 4, 8}) {
    const Image stored = decode_region(bytes, "a.jpg", all_at(denominator)).image;
    const Image whole = decode_region(bytes, "a.jpg", all_at(denominator), ExifOrientation::kApplied).image;
    ASSERT_EQ(whole.pixels, turned_by_hand(stored, tag).pixels) << "1/" << denominator;
    const int height = whole.height, width = whole.width;
    for (const Box& box : {Box{0, 0, 1, 1}, Box{height - 1, 0, 1, width}, Box{0, width - 1, height, 1}, Box{1, 2, height / 2, width / 3},
                           Box{height / 3, width / 2, 3, 2}}) {
      int asked_height = 0, asked_width = 0;
      const auto choose = [&](int h, int w) {
        asked_height = h, asked_width = w;
        return ImageRegion{box, denominator};
      };
      const PartialImage part = decode_region(bytes, "a.jpg", choose, ExifOrientation::kApplied);
      EXPECT_EQ(asked_height, tag >= 5 ? 70 : 45);
      EXPECT_EQ(part.height, asked_height);
      EXPECT_EQ(part.width, asked_width);
      EXPECT_EQ(part.region.denominator, denominator);
      ASSERT_EQ(part.region.box.top, box.top) << tag;
      ASSERT_EQ(part.region.box.left, box.left) << tag;
      ASSERT_EQ(part.image.height, box.height);
      ASSERT_EQ(part.image.pixels, cropped(whole, box)) << tag << " at 1/" << denominator;
    }
  }
}

TEST_P(EveryOrientation, IsReadInBothByteOrders) {
  const int tag = GetParam();
  for (const Order order : {Order::kLittle, Order::kBig}) {
    const Orientation found = exif_orientation(photograph(8, 8, static_cast<uint32_t>(tag), order));
    EXPECT_EQ(found.transposed, tag >= 5);
    EXPECT_EQ(found.upright(), tag == 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Tags, EveryOrientation, testing::Range(1, 9));

TEST(Orientation, OfAnImageLargerThanABlockOfTheTurnIsRight) {
  Image stored{70, 101, 3, ramp(70 * 101 * 3, 91)};
  for (int tag = 1; tag <= 8; ++tag) {
    EXPECT_EQ(turned(PartialImage::whole(stored), orientation_of(tag)).image.pixels, turned_by_hand(stored, tag).pixels) << tag;
  }
}

TEST(Orientation, OfADamagedNoteIsUpright) {
  const Bytes plain = jpeg(solid(8, 8, 1, 2, 3)), block = exif_block(6, Order::kLittle);
  EXPECT_TRUE(exif_orientation(plain).upright());
  EXPECT_FALSE(exif_orientation(with_exif(plain, block)).upright());
  for (size_t length = 0; length < block.size() - 6; ++length) {  // the value and the next directory may go
    EXPECT_TRUE(exif_orientation(with_exif(plain, Bytes(block.begin(), block.begin() + static_cast<ptrdiff_t>(length)))).upright())
        << length;
  }
  for (const uint32_t tag : {0u, 9u, 65535u}) EXPECT_TRUE(exif_orientation(with_exif(plain, exif_block(tag, Order::kBig))).upright());
  EXPECT_TRUE(exif_orientation(with_exif(plain, exif_block(6, Order::kBig, /*kind=*/4))).upright()) << "a long number";
  Bytes far = block;
  far[4] = far[5] = far[6] = far[7] = 0xff;  // where the directory is
  EXPECT_TRUE(exif_orientation(with_exif(plain, far)).upright());
  EXPECT_TRUE(exif_orientation({}).upright());
}

TEST(Orientation, IsAppliedToFoldersOfImagesUnlessItIsSwitchedOff) {
  const TemporaryFolder folder;
  write(folder / "a/1.jpg", photograph(9, 17, 6));
  const auto shown = make("{name: image_folder, root: " + folder.path() + "}");
  const auto stored = make("{name: image_folder, root: " + folder.path() + ", exif_orientation: false}");
  EXPECT_EQ(stored->get(0).image.height, 9);
  EXPECT_EQ(shown->get(0).image.height, 17);
  EXPECT_EQ(shown->get(0).image.pixels, turned_by_hand(stored->get(0).image, 6).pixels);
  const PartialImage part = shown->region(0, [](int height, int) { return ImageRegion{{height - 1, 0, 1, 9}, 1}; });
  EXPECT_EQ(part.height, 17);
  EXPECT_EQ(part.image.pixels, cropped(shown->get(0).image, {16, 0, 1, 9}));
}

}  // namespace orientation_test
}  // namespace debias
