#include "debias/image/file_encoding.h"

#include <fmt/format.h>

#include <array>

#include "debias/image/exif.h"
#include "debias/image/image_decode.h"

namespace debias {
namespace {

using Bytes = std::span<const uint8_t>;

bool is_frame_header(uint8_t marker) {
  constexpr uint8_t kHuffmanTables = 0xc4, kExtension = 0xc8, kArithmeticTables = 0xcc;
  return marker >= 0xc0 && marker <= 0xcf && marker != kHuffmanTables && marker != kExtension && marker != kArithmeticTables;
}

// Content of a frame header: precision, height, width, number of components, then three bytes for each: number, sampling, table.
std::string frame_text(uint8_t marker, Bytes frame) {
  constexpr uint8_t kBaseline = 0xc0, kProgressive = 0xc2;
  constexpr size_t kComponents = 5, kFirst = 6, kEach = 3;
  std::string text = marker == kBaseline ? "baseline" : marker == kProgressive ? "progressive" : fmt::format("SOF{}", marker - kBaseline);
  if (frame.size() <= kComponents) return text;
  for (size_t c = 0; c < frame[kComponents] && kFirst + kEach * c + 1 < frame.size(); ++c) {
    text += fmt::format(" {:02x}", frame[kFirst + kEach * c + 1]);
  }
  return text;
}

std::string jpeg_encoding(Bytes file) {
  std::string text;
  for_each_jpeg_segment(file, [&](uint8_t marker, Bytes content) {
    if (is_frame_header(marker)) text = frame_text(marker, content);
    return text.empty();
  });
  return text;
}

// Content of IHDR: width, height, bits, colour type, compression, filter, interlace.
std::string png_encoding(Bytes file) {
  constexpr size_t kBits = 8, kColour = 9, kInterlace = 12;
  constexpr std::array<std::string_view, 7> kColours = {"grey", "", "RGB", "palette", "grey and alpha", "", "RGB and alpha"};
  std::string text;
  for_each_png_chunk(file, [&](std::string_view type, Bytes content) {
    if (type != "IHDR" || content.size() <= kInterlace || content[kColour] >= kColours.size()) return false;
    text = fmt::format("{} {} bits{}", kColours[content[kColour]], content[kBits], content[kInterlace] == 0 ? "" : ", interlaced");
    return false;
  });
  return text;
}

std::string webp_encoding(Bytes file) {
  const Bytes type = part_of(file, 12, 4);
  return begins_with(type, "VP8L") ? "lossless" : begins_with(type, "VP8X") ? "extended" : begins_with(type, "VP8 ") ? "lossy" : "";
}

std::string bmp_encoding(Bytes file) {
  const Bytes bits = part_of(file, 28, 2);
  return bits.size() < 2 ? "" : fmt::format("{} bits", bits[0] | bits[1] << 8);
}

std::string jfif_density(Bytes file) {
  constexpr std::array<std::string_view, 3> kUnits = {"pixel", "inch", "cm"};
  constexpr size_t kUnit = 7, kAcross = 8, kDown = 10;
  std::string text;
  for_each_jpeg_segment(file, [&](uint8_t marker, Bytes content) {
    constexpr uint8_t kApp0 = 0xe0;
    if (marker != kApp0 || !begins_with(content, std::string_view("JFIF\0", 5)) || content.size() < kDown + 2) return true;
    if (content[kUnit] < kUnits.size()) {
      text = fmt::format("{} x {} per {}", big_endian(content, kAcross, 2), big_endian(content, kDown, 2), kUnits[content[kUnit]]);
    }
    return false;
  });
  return text;
}

std::string png_density(Bytes file) {
  std::string text;
  for_each_png_chunk(file, [&](std::string_view type, Bytes content) {
    if (type == "IDAT") return false;
    if (type != "pHYs" || content.size() < 9) return true;
    text = fmt::format("{} x {} per {}", big_endian(content, 0, 4), big_endian(content, 4, 4), content[8] == 0 ? "pixel" : "metre");
    return false;
  });
  return text;
}

std::string text_of(Bytes content) {
  constexpr size_t kLongest = 64;
  std::string text;
  for (const uint8_t byte : part_of(content, 0, kLongest)) text += byte == 0 ? ' ' : static_cast<char>(byte);
  return text;
}

}  // namespace

std::string file_encoding(Bytes file) {
  const auto format = image_format(file);
  if (format == ImageFormat::kJpeg) return jpeg_encoding(file);
  if (format == ImageFormat::kPng) return png_encoding(file);
  if (format == ImageFormat::kWebp) return webp_encoding(file);
  return format == ImageFormat::kBmp ? bmp_encoding(file) : "";
}

std::string file_density(Bytes file) {
  const auto format = image_format(file);
  return format == ImageFormat::kJpeg ? jfif_density(file) : format == ImageFormat::kPng ? png_density(file) : "";
}

std::string file_comment(Bytes file) {
  constexpr uint8_t kComment = 0xfe;
  std::string text;
  const auto format = image_format(file);
  if (format == ImageFormat::kJpeg) {
    for_each_jpeg_segment(file, [&](uint8_t marker, Bytes content) {
      if (marker == kComment) text = text_of(content);
      return text.empty();
    });
  }
  if (format == ImageFormat::kPng) {
    for_each_png_chunk(file, [&](std::string_view type, Bytes content) {
      if (type == "tEXt" || type == "iTXt") text = text_of(content);
      return text.empty();
    });
  }
  return text;
}

std::string colour_profile(Bytes file) {
  constexpr uint8_t kApp2 = 0xe2;
  size_t size = 0;
  const auto format = image_format(file);
  if (format == ImageFormat::kJpeg) {
    for_each_jpeg_segment(file, [&](uint8_t marker, Bytes content) {
      if (marker == kApp2 && begins_with(content, "ICC_PROFILE")) size += content.size();
      return true;
    });
  }
  if (format == ImageFormat::kPng) {
    for_each_png_chunk(file, [&](std::string_view type, Bytes content) {
      if (type == "iCCP") size = content.size();
      return type != "IDAT";
    });
  }
  return size == 0 ? "" : fmt::format("ICC profile of {} bytes", size);
}

namespace {

constexpr size_t kCoefficients = 64;

// The tables of one DQT segment, each a byte of precision and number, then 64 values of one or two bytes.
void append_sums(std::span<const uint8_t> segment, std::string& sums) {
  for (size_t at = 0; at < segment.size();) {
    const size_t width = segment[at] >> 4 == 0 ? 1 : 2;
    ++at;
    if (segment.size() - at < kCoefficients * width) return;
    int64_t sum = 0;
    for (size_t i = 0; i < kCoefficients; ++i, at += width) sum += static_cast<int64_t>(big_endian(segment, at, width));
    sums += (sums.empty() ? "" : " ") + std::to_string(sum);
  }
}

}  // namespace

std::string jpeg_quantisation(std::span<const uint8_t> file) {
  constexpr uint8_t kTables = 0xdb;
  if (image_format(file) != ImageFormat::kJpeg) return "";
  std::string sums;
  for_each_jpeg_segment(file, [&](uint8_t marker, std::span<const uint8_t> content) {
    if (marker == kTables) append_sums(content, sums);
    return true;
  });
  return sums;
}

}  // namespace debias
