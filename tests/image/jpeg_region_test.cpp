// Parts of JPEG images, at their own and at reduced sizes: pixel for pixel those of the whole image, whose pixels are TurboJPEG's. Sizes
// straddle the 8, 16 and 32 pixels of a block of all components; boxes lie anywhere, at edges, and one pixel off them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "debias/core/input_file.h"
#include "debias/core/philox.h"
#include "debias/data/dataset.h"
#include "debias/data/readers/image_files.h"
#include "debias/image/image_decode.h"
#include "debias/image/image_encode.h"
#include "tests/data/fixture_files.h"
#include "tests/image/test_images.h"
#include "tests/support/golden_folder.h"
#include "tests/support/refusals.h"

namespace debias {
namespace jpeg_region_test {

using namespace fixture;
using testing::AllOf;
using testing::HasSubstr;

Image picture(int height, int width, uint64_t seed) {  // with edges, so that a wrong neighbour shows
  Image image{height, width, 3, Bytes(static_cast<size_t>(height) * width * 3)};
  Random random({.domain = RngDomain::kTest, .seed = seed});
  for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(random.bits());
  return image;
}

Bytes encoded(const Image& image, int subsampling, int flags = 0, int quality = 80) {
  tjhandle handle = tjInitCompress();
  unsigned char* out = nullptr;
  unsigned long size = 0;
  tjCompress2(handle, image.pixels.data(), image.width, 0, image.height, TJPF_RGB, &out, &size, subsampling, quality, flags);
  Bytes bytes(out, out + size);
  tjFree(out);
  tjDestroy(handle);
  return bytes;
}

int divided(int size, int denominator) { return (size + denominator - 1) / denominator; }

Bytes decoded_by_turbojpeg(const Bytes& bytes, int height, int width, int denominator) {
  height = divided(height, denominator);
  width = divided(width, denominator);
  tjhandle handle = tjInitDecompress();
  Bytes pixels(static_cast<size_t>(height) * width * 3);
  EXPECT_EQ(tjDecompress2(handle, bytes.data(), bytes.size(), pixels.data(), width, 0, height, TJPF_RGB, TJFLAG_ACCURATEDCT), 0);
  tjDestroy(handle);
  return pixels;
}

PartialImage decode(const Bytes& bytes, const Box& box, int denominator = 1) {
  return decode_region(bytes, "a.jpg", [=](int, int) { return ImageRegion{box, denominator}; });
}

Image reduced_whole(const Bytes& bytes, int denominator) {
  return decode_region(bytes, "a.jpg",
                       [=](int height, int width) {
                         return ImageRegion{{0, 0, divided(height, denominator), divided(width, denominator)}, denominator};
                       })
      .image;
}

void expect_region(const Bytes& bytes, const Image& whole, const Box& box, int denominator = 1) {
  const PartialImage part = decode(bytes, box, denominator);
  ASSERT_EQ(part.region.denominator, denominator);
  const Box& there = part.region.box;
  ASSERT_LE(there.top, box.top);
  ASSERT_LE(there.left, box.left);
  ASSERT_GE(there.top + there.height, box.top + box.height);
  ASSERT_GE(there.left + there.width, box.left + box.width);
  ASSERT_EQ(part.image.height, there.height);
  ASSERT_EQ(part.image.width, there.width);
  ASSERT_TRUE(part.image.pixels == cropped(whole, there)) << whole.height << "x" << whole.width << " at 1/" << denominator << ": "
                                                          << box.height << "x" << box.width << " at " << box.top << ", " << box.left;
}

std::vector<Box> boxes_of(int height, int width, int random_ones) {
  std::vector<Box> boxes = {
      {0, 0, height, width}, {0, 0, 1, 1}, {height - 1, width - 1, 1, 1}, {0, width - 1, height, 1}, {height / 2, 0, 1, width}};
  for (const int edge : {7, 8, 9, 15, 16, 17, 31, 32, 33}) {
    if (edge < height) boxes.insert(boxes.end(), {{edge, 0, height - edge, width}, {0, 0, edge, width}});
    if (edge < width) boxes.insert(boxes.end(), {{0, edge, height, width - edge}, {0, 0, height, edge}});
  }
  Random random({.domain = RngDomain::kTest, .seed = static_cast<uint64_t>(height * 1000 + width)});
  for (int i = 0; i < random_ones; ++i) {
    Box box;
    box.height = 1 + static_cast<int>(random.below(height));
    box.width = 1 + static_cast<int>(random.below(width));
    box.top = static_cast<int>(random.below(height - box.height + 1));
    box.left = static_cast<int>(random.below(width - box.width + 1));
    boxes.push_back(box);
  }
  return boxes;
}

class JpegRegion : public testing::TestWithParam<std::tuple<int, int>> {};  // the subsampling of the chroma, the denominator

TEST_P(JpegRegion, IsThatOfTheWholeImage) {
  const auto [subsampling, denominator] = GetParam();
  for (const auto& [height, width] :
       std::vector<std::pair<int, int>>{{1, 1}, {1, 40}, {40, 1}, {7, 5}, {8, 8}, {16, 16}, {17, 33}, {31, 64}, {64, 47}, {101, 99}}) {
    const Bytes bytes = encoded(picture(height, width, static_cast<uint64_t>(height)), subsampling);
    const Image whole = reduced_whole(bytes, denominator);
    ASSERT_EQ(whole.pixels, decoded_by_turbojpeg(bytes, height, width, denominator));
    for (const Box& box : boxes_of(whole.height, whole.width, 60)) expect_region(bytes, whole, box, denominator);
  }
}

TEST_P(JpegRegion, OfAPhotographsSizeIsThatOfTheWholeImage) {
  const auto [subsampling, denominator] = GetParam();
  const Bytes bytes = encoded(picture(375, 500, 1), subsampling);
  const Image whole = reduced_whole(bytes, denominator);
  for (const Box& box : boxes_of(whole.height, whole.width, 40)) expect_region(bytes, whole, box, denominator);
}

INSTANTIATE_TEST_SUITE_P(Subsamplings, JpegRegion,
                         testing::Combine(testing::Values(TJSAMP_444, TJSAMP_422, TJSAMP_420, TJSAMP_GRAY, TJSAMP_440, TJSAMP_411),
                                          testing::Values(1, 2, 4, 8)));

TEST(JpegRegions, OfEveryGoldenFileAreThoseOfTheWholeImage) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden_folder("images"))) {
    if (entry.path().extension() != ".jpg") continue;
    ++files;
    const Bytes bytes = read_file_bytes(entry.path().string());
    const Image whole = decode_image(bytes, "a.jpg");
    for (const Box& box : boxes_of(whole.height, whole.width, 40)) expect_region(bytes, whole, box);
  }
  EXPECT_GE(files, 8);
}

TEST(JpegRegions, OfFilesOfSeveralScansAreTheWholeImage) {
  const Bytes bytes = encoded(picture(64, 64, 2), TJSAMP_420, TJFLAG_PROGRESSIVE);
  EXPECT_EQ(decode(bytes, {20, 20, 9, 9}).image.pixels, decode_image(bytes, "a.jpg").pixels);
  EXPECT_EQ(decode(bytes, {2, 2, 9, 9}, 4).image.pixels, decoded_by_turbojpeg(bytes, 64, 64, 4));
}

TEST(JpegRegions, OfBaselineFilesHoldLittleElse) {
  EXPECT_LE(decode(encoded(picture(300, 300, 3), TJSAMP_420), {100, 120, 50, 60}).image.pixels.size(), size_t{3} * 50 * 60);
}

TEST(JpegRegions, OfPngFilesAreTheWholeImage) {
  const Image image = picture(9, 7, 4);
  const PartialImage part = decode_region(encode_png(image), "a.png", [](int, int) { return ImageRegion{{1, 1, 2, 2}, 2}; });
  EXPECT_EQ(part.region.denominator, 1);
  EXPECT_EQ(part.image.pixels, image.pixels);
}

TEST(JpegRegions, OfATruncatedFileAreRefusedLikeTheWholeImage) {
  const Bytes whole = encoded(picture(200, 200, 5), TJSAMP_420);
  for (const size_t kept : {whole.size() / 2, whole.size() - 2}) {
    const Bytes bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(kept));
    const std::string expected = data_error_of([&] { decode_image(bytes, "a.jpg"); });
    EXPECT_THAT(expected, AllOf(HasSubstr("a.jpg: truncated JPEG image")));
    for (const Box& box : {Box{0, 0, 5, 5}, Box{10, 10, 10, 15}, Box{20, 0, 5, 25}}) {
      for (const int denominator : {1, 2, 4, 8}) EXPECT_EQ(data_error_of([&] { decode(bytes, box, denominator); }), expected);
    }
  }
}

TEST(JpegRegions, AreRefusedWhereDamageAboveThemCostsThePlace) {
  Bytes bytes = encoded(picture(200, 200, 6), TJSAMP_420);
  for (size_t i = bytes.size() / 4; i < bytes.size() / 4 + 40; ++i) bytes[i] = 0xff;  // markers that do not belong there
  EXPECT_THAT(data_error_of([&] { decode(bytes, {150, 10, 20, 20}); }), HasSubstr("corrupt JPEG image"));
  EXPECT_NO_THROW(decode(bytes, {0, 0, 20, 200}));
}

TEST(JpegRegions, OfADataSetAreThoseOfItsImages) {
  const TemporaryFolder folder;
  const Image image = picture(40, 60, 7);
  write(folder / "a.jpg", encoded(image, TJSAMP_420));
  DatasetInfo info;
  info.height = 40;
  info.width = 60;
  const auto files = std::make_shared<ImageFiles>(info, folder.path(), std::vector<ImageFile>{{"a.jpg", 0}});
  const Subset subset(files, {0}, "part");
  const Image whole = files->get(0).image;
  for (const Dataset* dataset : {static_cast<const Dataset*>(files.get()), static_cast<const Dataset*>(&subset)}) {
    const PartialImage part = dataset->region(0, [](int height, int width) { return ImageRegion{{height / 4, width / 4, 10, 12}, 1}; });
    EXPECT_EQ(part.height, 40);
    EXPECT_EQ(part.width, 60);
    EXPECT_EQ(part.image.height, 10);
    EXPECT_EQ(part.image.pixels, cropped(whole, part.region.box));
  }
  info.width = 61;
  const ImageFiles other(info, folder.path(), {{"a.jpg", 0}});
  const auto corner = [](int, int) { return ImageRegion{{0, 0, 1, 1}, 2}; };
  EXPECT_THAT(data_error_of([&] { other.region(0, corner); }), HasSubstr("is 40x60 pixels, expected 40x61"));
}

TEST(JpegRegionsRealData, AreThoseOfTheWholeImage) {
  const char* given = std::getenv("DEBIAS_TEST_DATA");
  const std::filesystem::path root = given != nullptr ? given : "../shared/data";
  if (!std::filesystem::is_directory(root / "frost")) GTEST_SKIP() << "no frost textures in " << root;
  for (const auto& entry : std::filesystem::directory_iterator(root / "frost")) {
    if (entry.path().extension() != ".jpg") continue;
    const Bytes bytes = read_file_bytes(entry.path().string());
    const Image whole = decode_image(bytes, "a.jpg");
    for (const Box& box : boxes_of(whole.height, whole.width, 10)) expect_region(bytes, whole, box);
  }
}

}  // namespace jpeg_region_test
}  // namespace debias
