// What a file says beside its pixels: the camera of its EXIF block and the quantisation tables of its encoder.
#include <gtest/gtest.h>

#include "debias/image/exif.h"
#include "debias/image/jpeg_quantisation.h"
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

}  // namespace file_traces_test
}  // namespace debias
