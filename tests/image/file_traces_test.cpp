// What a file says beside its pixels: the camera of its EXIF block and the quantisation tables of its encoder.
#include <gtest/gtest.h>

#include "debias/image/exif.h"
#include "debias/image/file_encoding.h"
#include "tests/data/fixture_files.h"

namespace debias {
namespace file_traces_test {

using namespace fixture;

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

}  // namespace file_traces_test
}  // namespace debias
