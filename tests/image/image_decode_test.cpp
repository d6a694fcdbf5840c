// JPEG and PNG decoding of what image_golden_test.cpp has no file of, and hostile input.
#include "debias/image/image_decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <cstdlib>

#include "debias/image/image_encode.h"
#include "tests/data/fixture_files.h"
#include "tests/support/refusals.h"

namespace debias {
namespace image_decode_test {

using namespace fixture;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

void put32(Bytes& bytes, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<uint8_t>(value >> shift));
}

void put_chunk(Bytes& bytes, const std::string& type, const Bytes& data) {
  put32(bytes, static_cast<uint32_t>(data.size()));
  Bytes body(type.begin(), type.end());
  body.insert(body.end(), data.begin(), data.end());
  bytes.insert(bytes.end(), body.begin(), body.end());
  put32(bytes, static_cast<uint32_t>(crc32(0, body.data(), static_cast<uInt>(body.size()))));
}

struct PngParts {
  uint32_t width = 1, height = 1;
  uint8_t depth = 8, colour = 2, interlace = 0;
  std::vector<std::pair<std::string, Bytes>> chunks{};  // between header and data
  Bytes rows{};                                         // each row begins with its filter byte
};

Bytes png(const PngParts& parts) {
  Bytes bytes = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  Bytes header;
  put32(header, parts.width);
  put32(header, parts.height);
  for (uint8_t value : {parts.depth, parts.colour, uint8_t{0}, uint8_t{0}, parts.interlace}) header.push_back(value);
  put_chunk(bytes, "IHDR", header);
  for (const auto& [type, data] : parts.chunks) put_chunk(bytes, type, data);
  Bytes packed(compressBound(parts.rows.size()));
  uLongf size = packed.size();
  compress(packed.data(), &size, parts.rows.data(), parts.rows.size());
  packed.resize(size);
  put_chunk(bytes, "IDAT", packed);
  put_chunk(bytes, "IEND", {});
  return bytes;
}

Image decode(const Bytes& bytes) { return decode_image(bytes, "folder/a.img"); }

std::string refusal(const Bytes& bytes) {
  const std::string message = data_error_of([&] { decode(bytes); });
  EXPECT_THAT(message, testing::StartsWith("folder/a.img: "));
  return message;
}

Bytes prefix(const Bytes& bytes, size_t length) { return Bytes(bytes.begin(), bytes.begin() + static_cast<int64_t>(length)); }

Image noisy(int height, int width) {
  Image image;
  image.height = height;
  image.width = width;
  image.pixels = ramp(static_cast<size_t>(height) * width * 3, 37);
  return image;
}

TEST(DecodePng, RoundTripsThroughTheEncoder) {
  const Image image = noisy(7, 5);
  const Image back = decode(encode_png(image));
  EXPECT_EQ(back.height, 7);
  EXPECT_EQ(back.width, 5);
  EXPECT_EQ(back.pixels, image.pixels);
}

TEST(DecodePng, WidensFewBits) {
  const Image two = decode(png({.width = 4, .depth = 2, .colour = 0, .rows = {0, 0b00011011}}));
  EXPECT_THAT(two.pixels, ElementsAre(0, 0, 0, 85, 85, 85, 170, 170, 170, 255, 255, 255));
  const Image one = decode(png({.width = 2, .depth = 1, .colour = 0, .rows = {0, 0b01000000}}));
  EXPECT_THAT(one.pixels, ElementsAre(0, 0, 0, 255, 255, 255));
}

TEST(DecodePng, RefusesTruncationAnywhere) {
  const Bytes whole = encode_png(noisy(9, 9));
  for (size_t length = 8; length < whole.size(); ++length) EXPECT_THAT(refusal(prefix(whole, length)), HasSubstr("truncated")) << length;
}

TEST(DecodePng, RefusesAFlippedBit) {
  Bytes bytes = encode_png(noisy(9, 9));
  bytes[bytes.size() - 30] ^= 4;  // in the compressed data
  EXPECT_THAT(refusal(bytes), HasSubstr("corrupt"));
}

TEST(DecodeJpeg, RefusesTruncationAnywhere) {
  const Bytes whole = jpeg(noisy(16, 16));
  for (size_t length = 3; length < whole.size(); ++length) EXPECT_THAT(refusal(prefix(whole, length)), HasSubstr("truncated")) << length;
}

TEST(DecodeJpeg, PassesOverBytesBetweenMarkers) {  // as Pillow does; such files are common
  Bytes bytes = jpeg(solid(8, 8, 1, 2, 3));
  const Bytes pad = {0, 0, 0};
  bytes.insert(bytes.begin() + 2, pad.begin(), pad.end());
  EXPECT_EQ(decode_image(jpeg(solid(8, 8, 1, 2, 3)), "x").pixels.size(), 192u);
  Bytes scan = {0xff, 0xda};
  Bytes good = jpeg(solid(8, 8, 1, 2, 3));
  const auto at = std::search(good.begin(), good.end(), scan.begin(), scan.end());
  good.insert(at, pad.begin(), pad.end());
  EXPECT_EQ(decode(good).pixels, decode(jpeg(solid(8, 8, 1, 2, 3))).pixels);
  good.resize(good.size() - 2);  // now without its end
  EXPECT_THAT(refusal(good), HasSubstr("JPEG"));
}

TEST(DecodeImage, TellsTheFormatFromTheContent) {
  EXPECT_THAT(refusal({}), HasSubstr("is empty"));
  EXPECT_THAT(refusal({'h', 'e', 'l', 'l', 'o'}),
              HasSubstr("is not an image of a supported format (JPEG, PNG, WebP, TIFF, BMP and PNM): it begins with 68 65 6c 6c"));
  EXPECT_THAT(refusal({0xff}), HasSubstr("it begins with ff"));
}

Bytes jpeg_claiming(uint16_t height, uint16_t width) {
  Bytes bytes = jpeg(noisy(16, 16));
  const Bytes frame = {0xff, 0xc0};
  const auto at = std::search(bytes.begin(), bytes.end(), frame.begin(), frame.end()) + 5;
  for (int i = 0; i < 4; ++i) at[i] = static_cast<uint8_t>((i < 2 ? height : width) >> (i % 2 == 0 ? 8 : 0));
  return bytes;
}

TEST(DecodeImage, SetsNothingAsideForHeadersThatCannotBeTrue) {
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  EXPECT_THAT(refusal(jpeg_claiming(65500, 65500)), HasSubstr("65500x65500 pixels, more than the 178956970 allowed"));
  EXPECT_THAT(refusal(jpeg_claiming(13000, 13000)), HasSubstr("cannot hold 13000x13000"));
  EXPECT_THAT(refusal(png({.width = 65500, .height = 65500, .rows = {0}})), HasSubstr("65500x65500 pixels, more than"));
  EXPECT_THAT(refusal(png({.width = 13000, .height = 13000, .rows = {0}})), HasSubstr("cannot hold 13000x13000"));
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 100 * 1024);  // kilobytes
}

TEST(ReadImage, NamesTheFile) {
  const TemporaryFolder folder;
  EXPECT_THAT(data_error_of([&] { read_image(folder / "none.png"); }), AllOf(HasSubstr(folder / "none.png"), HasSubstr("No such file")));
  EXPECT_THAT(data_error_of([&] { read_image(folder.path()); }), HasSubstr("not a regular file"));
}

TEST(EncodePng, RefusesWhatIsNoImage) {
  EXPECT_THROW(encode_png(Image{}), Error);
  Image two = solid(2, 2, 0, 0, 0);
  two.channels = 2;
  EXPECT_THROW(encode_png(two), Error);
}

}  // namespace image_decode_test
}  // namespace debias
