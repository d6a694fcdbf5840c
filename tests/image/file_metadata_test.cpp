// What image files say beside their pixels: orientation, and traces of the program that wrote them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "debias/data/readers/image_folder.h"
#include "debias/image/exif.h"
#include "debias/image/file_encoding.h"
#include "debias/image/image_decode.h"
#include "tests/data/fixture_files.h"
#include "tests/image/test_images.h"

namespace debias {
namespace file_metadata_test {

// Photographs turned as their camera noted: whole ones and parts, at their own and at reduced sizes, against the formula of each of the
// eight orientations written out pixel by pixel. Sizes are odd, and no multiples of a block or of a denominator.

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

// What a file says beside its pixels: the camera of its EXIF block and the quantisation tables of its encoder.

void append(Bytes& bytes, std::string_view text) { bytes.insert(bytes.end(), text.begin(), text.end()); }

// Make and model in a big-endian block; the make lies at `at`, 18 bytes of it with the end of the text.
Bytes block(uint8_t at) {
  Bytes bytes;
  append(bytes, std::string_view("MM\0\x2a\0\0\0\x08\0\x02", 10));
  append(bytes, std::string_view("\x01\x0f\0\x02\0\0\0\x12\0\0\0", 11));
  bytes.push_back(at);
  append(bytes, std::string_view("\x01\x10\0\x02\0\0\0\x03X1\0\0", 12));
  append(bytes, std::string_view("\0\0\0\0", 4));
  append(bytes, std::string_view("  Maker & Sons   \0", 18));
  return bytes;
}

Bytes photograph(const Bytes& exif) {
  Bytes file = jpeg(ramp(16 * 16 * 3, 7), 16, 16, TJPF_RGB, TJSAMP_420, 90);
  Bytes segment = {0xff, 0xe1, 0, static_cast<uint8_t>(8 + exif.size())};
  append(segment, std::string_view("Exif\0\0", 6));
  segment.insert(segment.end(), exif.begin(), exif.end());
  file.insert(file.begin() + 2, segment.begin(), segment.end());
  return file;
}

TEST(FileTraces, ACameraIsItsMakeAndModelWithoutBlanksAroundThem) {
  EXPECT_EQ(exif_camera(photograph(block(38))), "Maker & Sons X1");
  EXPECT_TRUE(exif_orientation(photograph(block(38))).upright());
}

TEST(FileTraces, DamagedOrMissingBlocksHaveNoCamera) {
  EXPECT_EQ(exif_camera(photograph(block(250))), "X1");  // the make lies beyond the end
  EXPECT_EQ(exif_camera(jpeg(ramp(16 * 16 * 3, 7), 16, 16, TJPF_RGB, TJSAMP_420, 90)), "");
  EXPECT_EQ(exif_camera({}), "");
  const Bytes whole = photograph(block(38));
  for (size_t size = 0; size < 80; ++size) exif_camera(std::span(whole.data(), size));  // reads nothing beyond the end
}

// The example tables of the JPEG standard, Annex K, sum to 3688 and 5505 at quality 50.
TEST(FileTraces, QuantisationIsTheSumsOfTheTables) {
  EXPECT_EQ(jpeg_quantisation(jpeg(ramp(16 * 16 * 3, 7), 16, 16, TJPF_RGB, TJSAMP_420, 50)), "3688 5505");
  EXPECT_NE(jpeg_quantisation(jpeg(ramp(16 * 16 * 3, 7), 16, 16, TJPF_RGB, TJSAMP_420, 51)), "3688 5505");
  EXPECT_EQ(jpeg_quantisation(Bytes{'B', 'M', 0, 0}), "");
  const Bytes whole = jpeg(ramp(16 * 16 * 3, 7), 16, 16, TJPF_RGB, TJSAMP_420, 50);
  for (size_t size = 0; size < 200; ++size) jpeg_quantisation(std::span(whole.data(), size));
}

// A big-endian block with the program, the time of the last change and, in a directory of its own, that of the photograph.
Bytes dated_block(bool has_photograph) {
  Bytes bytes;
  append(bytes, std::string_view("MM\0\x2a\0\0\0\x08\0\x03", 10));
  append(bytes, std::string_view("\x01\x31\0\x02\0\0\0\x04pix\0", 12));
  append(bytes, std::string_view("\x01\x32\0\x02\0\0\0\x14\0\0\0\x32", 12));                 // 20 bytes at 50
  append(bytes, has_photograph ? std::string_view("\x87\x69\0\x04\0\0\0\x01\0\0\0\x46", 12)  // a directory at 70
                               : std::string_view("\x01\x0e\0\x04\0\0\0\x01\0\0\0\x46", 12));
  append(bytes, std::string_view("\0\0\0\0", 4));
  append(bytes, std::string_view("2024:11:30 10:00:00\0", 20));
  append(bytes, std::string_view("\0\x01\x90\x03\0\x02\0\0\0\x14\0\0\0\x54", 14));  // 20 bytes at 84
  append(bytes, std::string_view("2023:05:14 09:00:00\0", 20));
  return bytes;
}

TEST(FileTraces, TheMonthIsThatOfThePhotographOrElseOfTheLastChange) {
  EXPECT_EQ(exif_software(photograph(dated_block(true))), "pix");
  EXPECT_EQ(exif_month(photograph(dated_block(true))), "2023:05");
  EXPECT_EQ(exif_month(photograph(dated_block(false))), "2024:11");
  EXPECT_EQ(exif_month(photograph(block(38))), "");
  const Bytes whole = photograph(dated_block(true));
  for (size_t size = 0; size < 130; ++size) exif_month(std::span(whole.data(), size));
}

TEST(FileTraces, TheEncodingOfAJpegIsItsFrameAndItsSampling) {
  EXPECT_EQ(file_encoding(jpeg(ramp(16 * 16 * 3, 7), 16, 16, TJPF_RGB, TJSAMP_420, 90)), "baseline 22 11 11");
  EXPECT_EQ(file_encoding(jpeg(ramp(16 * 16 * 3, 7), 16, 16, TJPF_RGB, TJSAMP_444, 90)), "baseline 11 11 11");
  EXPECT_EQ(file_density(jpeg(ramp(16 * 16 * 3, 7), 16, 16, TJPF_RGB, TJSAMP_420, 90)), "1 x 1 per pixel");
  const Bytes whole = jpeg(ramp(16 * 16 * 3, 7), 16, 16, TJPF_RGB, TJSAMP_420, 90);
  for (size_t size = 0; size < whole.size(); ++size) file_encoding(std::span(whole.data(), size));
}

Bytes png_chunk(std::string_view type, std::string_view content) {
  Bytes bytes = {0, 0, 0, static_cast<uint8_t>(content.size())};
  append(bytes, type);
  append(bytes, content);
  append(bytes, "crc.");
  return bytes;
}

TEST(FileTraces, APngSaysItsColoursDensityTextAndProfile) {
  Bytes file;
  append(file, "\x89PNG\r\n\x1a\n");
  for (const Bytes& chunk : {png_chunk("IHDR", std::string_view("\0\0\0\x10\0\0\0\x10\x08\x06\0\0\x01", 13)),
                             png_chunk("pHYs", std::string_view("\0\0\x0b\x13\0\0\x0b\x12\x01", 9)),
                             png_chunk("tEXt", std::string_view("Software\0pix", 12)), png_chunk("iCCP", "profile")}) {
    file.insert(file.end(), chunk.begin(), chunk.end());
  }
  EXPECT_EQ(file_encoding(file), "RGB and alpha 8 bits, interlaced");
  EXPECT_EQ(file_density(file), "2835 x 2834 per metre");
  EXPECT_EQ(file_comment(file), "Software pix");
  EXPECT_EQ(colour_profile(file), "ICC profile of 7 bytes");
  for (size_t size = 0; size < file.size(); ++size) {
    const std::span start(file.data(), size);
    file_encoding(start), file_density(start), file_comment(start), colour_profile(start);
  }
}

TEST(FileTraces, TheCommentAndProfileOfAJpegAreInItsSegments) {
  Bytes file = jpeg(ramp(16 * 16 * 3, 7), 16, 16, TJPF_RGB, TJSAMP_420, 90);
  Bytes segments;
  append(segments, std::string_view("\xff\xfe\0\x07hello", 9));
  append(segments, std::string_view("\xff\xe2\0\x10ICC_PROFILE\0\x01\x01", 18));
  file.insert(file.begin() + 2, segments.begin(), segments.end());
  EXPECT_EQ(file_comment(file), "hello");
  EXPECT_EQ(colour_profile(file), "ICC profile of 14 bytes");
  EXPECT_EQ(file_encoding(Bytes{'B', 'M'}), "");
}

}  // namespace file_metadata_test
}  // namespace debias
