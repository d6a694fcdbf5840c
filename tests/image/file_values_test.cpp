// What a file holds beside its pixels, as values with names.
#include <gtest/gtest.h>

#include <algorithm>

#include "debias/core/philox.h"
#include "debias/image/exif_traces.h"
#include "debias/image/file_traces.h"
#include "debias/image/iptc_traces.h"
#include "debias/image/jpeg_traces.h"
#include "debias/image/xmp_traces.h"
#include "tests/data/fixture_files.h"

namespace debias {
namespace file_values_test {

using namespace fixture;

void append(Bytes& bytes, std::string_view text) { bytes.insert(bytes.end(), text.begin(), text.end()); }

Bytes bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

// The value of the first trace of this name; "absent" if there is none.
std::string value(const FileTraces& traces, const std::string& name) {
  const auto found = std::ranges::find(traces, name, &FileTrace::name);
  return found == traces.end() ? "absent" : found->value;
}

// A big-endian block: in the first directory the maker, the width and pointers; in the photograph's a date, an exposure of 1/250 s, a bias of
// -1/3 and a broken fraction; in that of GPS 33° 30' 36" south and 11 m below the sea.
Bytes photograph_block() {
  Bytes bytes;
  append(bytes, std::string_view("MM\0\x2a\0\0\0\x08\0\x04", 10));
  append(bytes, std::string_view("\x01\0\0\x03\0\0\0\x01\0\x20\0\0", 12));
  append(bytes, std::string_view("\x01\x0f\0\x02\0\0\0\x03 A\0\0", 12));
  append(bytes, std::string_view("\x87\x69\0\x04\0\0\0\x01\0\0\0\x3e", 12));  // at 62
  append(bytes, std::string_view("\x88\x25\0\x04\0\0\0\x01\0\0\0\x90", 12));  // at 144
  append(bytes, std::string_view("\0\0\0\0", 4));
  append(bytes, std::string_view("\0\x04", 2));
  append(bytes, std::string_view("\x82\x9a\0\x05\0\0\0\x01\0\0\0\x74", 12));  // at 116
  append(bytes, std::string_view("\x90\x03\0\x02\0\0\0\x14\0\0\0\x7c", 12));  // at 124
  append(bytes, std::string_view("\x92\x04\0\x0a\0\0\0\x01\0\0\0\xf2", 12));  // at 242
  append(bytes, std::string_view("\x92\x02\0\x05\0\0\0\x01\0\0\0\xfa", 12));  // at 250
  append(bytes, std::string_view("\0\0\0\0", 4));
  append(bytes, std::string_view("\0\0\0\x01\0\0\0\xfa", 8));
  append(bytes, std::string_view("2024:02:29 22:15:00\0", 20));
  append(bytes, std::string_view("\0\x05", 2));
  append(bytes, std::string_view("\0\x01\0\x02\0\0\0\x02S\0\0\0", 12));
  append(bytes, std::string_view("\0\x02\0\x05\0\0\0\x03\0\0\0\xd2", 12));  // at 210
  append(bytes, std::string_view("\0\x05\0\x01\0\0\0\x01\x01\0\0\0", 12));
  append(bytes, std::string_view("\0\x06\0\x05\0\0\0\x01\0\0\0\xea", 12));  // at 234
  append(bytes, std::string_view("\0\x1d\0\x02\0\0\0\x04xyz\0", 12));
  append(bytes, std::string_view("\0\0\0\0", 4));
  append(bytes, std::string_view("\0\0\0\x21\0\0\0\x01\0\0\0\x1e\0\0\0\x01\0\0\0\x24\0\0\0\x01", 24));
  append(bytes, std::string_view("\0\0\0\x16\0\0\0\x02", 8));
  append(bytes, std::string_view("\xff\xff\xff\xff\0\0\0\x03", 8));
  append(bytes, std::string_view("\0\0\0\x05\0\0\0\0", 8));
  return bytes;
}

FileTraces exif_values(const Bytes& block) {
  FileTraces traces;
  add_exif_traces("EXIF", {block, ByteOrder::kBig}, traces);
  return traces;
}

TEST(FileValues, EveryExifTagHasItsNameAndValue) {
  const FileTraces traces = exif_values(photograph_block());
  EXPECT_EQ(value(traces, "EXIF Make"), "A");
  EXPECT_EQ(value(traces, "EXIF ExposureTime"), "0.004");
  EXPECT_EQ(std::stod(value(traces, "EXIF ExposureBiasValue")), -1.0 / 3);
  EXPECT_EQ(value(traces, "EXIF ApertureValue"), "");  // a fraction of zero
  EXPECT_NEAR(std::stod(value(traces, "EXIF GPS latitude")), -33.51, 1e-9);
  EXPECT_EQ(value(traces, "EXIF GPS altitude"), "-11");
  EXPECT_EQ(value(traces, "EXIF GPS latitude reference"), "S");
  EXPECT_EQ(value(traces, "EXIF tag 0x0100"), "absent");  // the width follows from the pixels
  EXPECT_EQ(traces.back().name, "EXIF tags");
  EXPECT_EQ(traces.back().value, "MM 100:3 10f:2 829a:5 9003:2 9204:10 9202:5 1:2 2:5 5:1 6:5 1d:2");
}

TEST(FileValues, ADateGivesDayMonthWeekdayAndHour) {
  const FileTraces traces = exif_values(photograph_block());
  EXPECT_EQ(value(traces, "EXIF DateTimeOriginal day"), "19782");
  EXPECT_EQ(value(traces, "EXIF DateTimeOriginal month"), "2");
  EXPECT_EQ(value(traces, "EXIF DateTimeOriginal weekday"), "4");  // a Thursday
  EXPECT_EQ(value(traces, "EXIF DateTimeOriginal hour"), "22");
  FileTraces others;
  add_text_trace("a", "2023-02-29", others);  // no such day
  add_text_trace("b", "1970-01-01", others);
  EXPECT_EQ(value(others, "a"), "2023-02-29");
  EXPECT_EQ(value(others, "b day"), "0");
  EXPECT_EQ(value(others, "b hour"), "absent");
}

Bytes grey_jpeg() { return jpeg(ramp(16 * 16 * 3, 7), 16, 16, TJPF_RGB, TJSAMP_420, 90); }

Bytes with_segment(Bytes file, uint8_t marker, std::string_view content) {
  Bytes segment = {0xff, marker, 0, static_cast<uint8_t>(2 + content.size())};
  append(segment, content);
  file.insert(file.begin() + 2, segment.begin(), segment.end());
  return file;
}

TEST(FileValues, AJpegHasItsMarkersSegmentsAndWhatFollowsItsEnd) {
  Bytes file = with_segment(grey_jpeg(), 0xee, std::string_view("Adobe\0\x64\0\0\0\0\x01", 12));
  FileTraces traces = file_traces(file);
  EXPECT_EQ(value(traces, "JPEG APP14 Adobe"), std::string("Adobe\0\x64\0\0\0\0\x01", 12));
  EXPECT_EQ(value(traces, "JPEG markers"), "APP14 Adobe, APP0 JFIF, DQT 65, DQT 65, c0, DHT, DHT, DHT, DHT, ");
  EXPECT_EQ(value(traces, "bytes after the image"), "0");
  EXPECT_EQ(value(traces, "text after the image"), "absent");
  append(file, std::string_view("\xff\xd9SEFT", 6));
  traces = file_traces(file);
  EXPECT_EQ(value(traces, "bytes after the image"), "6");
  EXPECT_EQ(value(traces, "text after the image"), "\xff\xd9SEFT");
  EXPECT_EQ(value(file_traces(std::span(file).first(file.size() - 8)), "bytes after the image"), "-1");
  EXPECT_EQ(jpeg_end(bytes_of("\xff\xd8")), std::nullopt);
}

// An end marker inside of a segment, as of a thumbnail, is none of the image.
TEST(FileValues, TheEndOfAThumbnailIsNotThatOfTheImage) {
  const Bytes file = with_segment(grey_jpeg(), 0xe3, std::string_view("thumb\0\xff\xd8\xff\xd9", 10));
  EXPECT_EQ(jpeg_end(file), file.size());
}

Bytes chunk(std::string_view type, std::string_view content) {
  Bytes bytes = {0, 0, 0, static_cast<uint8_t>(content.size())};
  append(bytes, type);
  append(bytes, content);
  append(bytes, "crc.");
  return bytes;
}

Bytes png(const std::vector<Bytes>& chunks) {
  Bytes file = bytes_of("\x89PNG\r\n\x1a\n");
  for (const Bytes& own : chunks) file.insert(file.end(), own.begin(), own.end());
  return file;
}

TEST(FileValues, APngHasItsTextsChunksAndCompression) {
  const Bytes file =
      png({chunk("IHDR", std::string_view("\0\0\0\x10\0\0\0\x10\x08\x02\0\0\0", 13)), chunk("gAMA", std::string_view("\0\0\xb1\x8f", 4)),
           chunk("tEXt", std::string_view("Source\0site", 11)), chunk("iTXt", std::string_view("Author\0\0\0en\0x\0me", 16)),
           chunk("tIME", std::string_view("\x07\xe7\x05\x0e\x0a\0\0", 7)), chunk("tRNS", "colour"), chunk("IDAT", "\x78\x9c\x63 "),
           chunk("IDAT", "more"), chunk("IEND", "")});
  const FileTraces traces = file_traces(file);
  EXPECT_EQ(value(traces, "PNG gAMA"), std::string("\0\0\xb1\x8f", 4));
  EXPECT_EQ(value(traces, "PNG text Source"), "site");
  EXPECT_EQ(value(traces, "PNG text Author"), "me");
  EXPECT_EQ(value(traces, "PNG time month"), "5");
  EXPECT_EQ(value(traces, "PNG time hour"), "10");
  EXPECT_EQ(value(traces, "PNG tRNS"), "absent");
  EXPECT_EQ(value(traces, "PNG compression"), "789c");
  EXPECT_EQ(value(traces, "PNG IDAT size"), "4");
  EXPECT_EQ(value(traces, "PNG chunks"), "IHDR gAMA tEXt iTXt tIME tRNS IDAT IEND ");
  EXPECT_EQ(value(traces, "bytes after the image"), "0");
  EXPECT_EQ(value(file_traces(png({chunk("IDAT", "\x78\x01\x01 "), chunk("IEND", "")})), "PNG compression"), "7801 stored");
  EXPECT_EQ(value(file_traces(png({chunk("IDAT", "\x78\x01\x01 "), chunk("IEND", "")})), "PNG IDAT size"), "absent");  // only one
}

TEST(FileValues, XmpGivesAttributesElementsAndTheFirstOfAList) {
  FileTraces traces;
  add_xmp_traces(bytes_of("<?xpacket begin='' id='W5'?><x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF xmlns:rdf='r'>"
                          "<rdf:Description rdf:about='' xmp:CreatorTool=\"GIMP 2\" xmp:Rating='3'>"
                          "<xmp:CreateDate>2023-05-14T10:00:00</xmp:CreateDate>"
                          "<dc:subject><rdf:Bag><rdf:li>cat</rdf:li><rdf:li>pet</rdf:li></rdf:Bag></dc:subject>"
                          "</rdf:Description></rdf:RDF></x:xmpmeta>"),
                 traces);
  EXPECT_EQ(value(traces, "XMP xmp:CreatorTool"), "GIMP 2");
  EXPECT_EQ(value(traces, "XMP xmp:Rating"), "3");
  EXPECT_EQ(value(traces, "XMP xmp:CreateDate hour"), "10");
  EXPECT_EQ(value(traces, "XMP dc:subject"), "cat");
  EXPECT_EQ(value(traces, "XMP xmlns:x"), "absent");
}

TEST(FileValues, IptcRecordsAreNamedByTheirNumber) {
  FileTraces traces;
  add_iptc_traces(bytes_of(std::string_view("8BIM\x04\x04\0\0\0\0\0\x09\x1c\x02\x6e\0\x04wire\0"
                                            "8BIM\x04\x25\0\0\0\0\0\x02xx",
                                            36)),
                  traces);
  EXPECT_EQ(value(traces, "IPTC 110"), "wire");
  EXPECT_EQ(value(traces, "Photoshop resources"), "404 425 ");
}

TEST(FileValues, DamagedFilesGiveWhatCanBeRead) {
  const std::string exif("Exif\0\0", 6);
  const Bytes block = photograph_block();
  Bytes file = with_segment(grey_jpeg(), 0xe2, "profile");
  std::string content = exif + std::string(block.begin(), block.end());
  Bytes segment = {0xff, 0xe1, static_cast<uint8_t>((2 + content.size()) >> 8), static_cast<uint8_t>(2 + content.size())};
  append(segment, content);
  file.insert(file.begin() + 2, segment.begin(), segment.end());
  EXPECT_EQ(value(file_traces(file), "EXIF Make"), "A");
  for (size_t size = 0; size < file.size(); ++size) file_traces(Bytes(file.begin(), file.begin() + static_cast<ptrdiff_t>(size)));
  Random random({.seed = 3});
  for (int i = 0; i < 2000; ++i) {
    Bytes damaged = file;
    for (int k = 0; k < 8; ++k) damaged[static_cast<size_t>(random.below(400))] = static_cast<uint8_t>(random.below(256));
    file_traces(damaged);
  }
  for (const char* start : {"BM", "P6\n1 1\n", "RIFF\1\1\1\1WEBPVP8 ", "II*", "\x89PNG\r\n\x1a\n"}) file_traces(bytes_of(start));
  EXPECT_TRUE(file_traces({}).empty());
}

}  // namespace file_values_test
}  // namespace debias
