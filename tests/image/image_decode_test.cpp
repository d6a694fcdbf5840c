// JPEG and PNG decoding against hand-made files, and hostile input. The expected pixels of the tables below are what Pillow gives.
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

TEST(DecodePng, ReplicatesGrey) {
  Image grey;
  grey.height = 1;
  grey.width = 2;
  grey.channels = 1;
  grey.pixels = {9, 200};
  EXPECT_THAT(decode(encode_png(grey)).pixels, ElementsAre(9, 9, 9, 200, 200, 200));
}

TEST(DecodePng, WidensFewBits) {
  const Image two = decode(png({.width = 4, .depth = 2, .colour = 0, .rows = {0, 0b00011011}}));
  EXPECT_THAT(two.pixels, ElementsAre(0, 0, 0, 85, 85, 85, 170, 170, 170, 255, 255, 255));
  const Image one = decode(png({.width = 2, .depth = 1, .colour = 0, .rows = {0, 0b01000000}}));
  EXPECT_THAT(one.pixels, ElementsAre(0, 0, 0, 255, 255, 255));
}

TEST(DecodePng, KeepsTheHighByteWhateverTheGamma) {
  const Image image = decode(png({.depth = 16, .chunks = {{"gAMA", {0, 0, 0xb1, 0x8f}}}, .rows = {0, 0x12, 0xff, 0x80, 0x00, 0x34, 0x01}}));
  EXPECT_THAT(image.pixels, ElementsAre(0x12, 0x80, 0x34));
}

TEST(DecodePng, DropsAlphaWithoutBlending) {
  EXPECT_THAT(decode(png({.colour = 6, .rows = {0, 10, 20, 30, 0}})).pixels, ElementsAre(10, 20, 30));
  EXPECT_THAT(decode(png({.colour = 4, .rows = {0, 77, 3}})).pixels, ElementsAre(77, 77, 77));
}

TEST(DecodePng, LooksUpPalettesAndDropsTheirTransparency) {
  const Image image =
      decode(png({.width = 2, .colour = 3, .chunks = {{"PLTE", {1, 2, 3, 4, 5, 6}}, {"tRNS", {0, 128}}}, .rows = {0, 1, 0}}));
  EXPECT_THAT(image.pixels, ElementsAre(4, 5, 6, 1, 2, 3));
}

TEST(DecodePng, ReadsInterlacedRows) {
  // Adam7 of 2x2 grey: pass 1 has (0,0), pass 6 (0,1), pass 7 the second row.
  const Image image = decode(png({.width = 2, .height = 2, .colour = 0, .interlace = 1, .rows = {0, 1, 0, 2, 0, 3, 4}}));
  EXPECT_THAT(image.pixels, ElementsAre(1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4));
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

TEST(DecodeJpeg, ReadsColourAndGrey) {
  const Image colour = decode(jpeg(solid(8, 9, 200, 100, 50)));
  EXPECT_EQ(colour.height, 8);
  EXPECT_EQ(colour.width, 9);
  EXPECT_NEAR(colour.pixels[0], 200, 2);
  EXPECT_NEAR(colour.pixels[1], 100, 2);
  EXPECT_NEAR(colour.pixels[2], 50, 2);
  const Image grey = decode(jpeg(Bytes(64, 93), 8, 8, TJPF_GRAY, TJSAMP_GRAY));
  EXPECT_THAT(Bytes(grey.pixels.begin(), grey.pixels.begin() + 3), ElementsAre(93, 93, 93));
}

TEST(DecodeJpeg, ReadsCmykAsInverted) {
  Bytes cmyk;
  for (int i = 0; i < 64; ++i) cmyk.insert(cmyk.end(), {255, 128, 0, 200});
  const Image image = decode(jpeg(cmyk, 8, 8, TJPF_CMYK));
  // R = 200 - 200 * (255 - 255) / 255, G = 200 - 200 * 127 / 255, B = 200 - 200.
  EXPECT_NEAR(image.pixels[0], 200, 2);
  EXPECT_NEAR(image.pixels[1], 100, 2);
  EXPECT_NEAR(image.pixels[2], 0, 2);
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

TEST(DecodeImage, SurvivesRandomDamage) {
  const std::vector<Bytes> sources = {jpeg(noisy(16, 24)), jpeg(noisy(16, 24).pixels, 16, 24, TJPF_RGB, TJSAMP_420, 60),
                                      encode_png(noisy(12, 10))};
  uint32_t state = 1;
  const auto next = [&](size_t n) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % n;
  };
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    Bytes bytes = sources[static_cast<size_t>(round) % sources.size()];
    for (size_t hits = 1 + next(6); hits > 0; --hits) bytes[next(bytes.size())] = static_cast<uint8_t>(next(256));
    if (next(4) == 0) bytes.resize(next(bytes.size()));
    try {
      const Image image = decode(bytes);
      EXPECT_EQ(image.pixels.size(), static_cast<size_t>(image.height) * image.width * 3);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kData);
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
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
