#include "debias/image/file_traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "debias/image/exif_traces.h"
#include "debias/image/file_segments.h"
#include "debias/image/image_format.h"
#include "debias/image/jpeg_traces.h"
#include "debias/image/png_traces.h"
#include "debias/image/xmp_traces.h"

namespace debias {
namespace {

using Bytes = std::span<const uint8_t>;

void add_webp_traces(Bytes file, FileTraces& traces) {
  std::string order;
  for_each_riff_chunk(file, [&](std::string_view type, Bytes content) {
    order += trace_key(type) + " ";
    if (type == "XMP ") add_xmp_traces(content, traces);
    if (type == "VP8 " && !content.empty()) traces.push_back({"WebP version", std::to_string(content[0] >> 1 & 7)});
    if (type == "ICCP") traces.push_back({"WebP ICCP", trace_value(content)});
    return true;
  });
  traces.push_back({"WebP chunks", order, TraceKind::kOrder});
}

void add_tiff_traces(Bytes file, FileTraces& traces) {
  constexpr size_t kHeader = 8;
  const ExifBlock block = tiff_block(file);
  if (block.bytes.empty()) return;
  traces.push_back({"TIFF directory", block.first_directory() == kHeader ? "before the pixels" : "after the pixels"});
  add_exif_traces("TIFF", block, traces);
}

// Size of the header, start of the pixels, compression, whether the size of the pixels is given, and pixels per metre.
void add_bmp_traces(Bytes file, FileTraces& traces) {
  traces.push_back(
      {"BMP header", fmt::format("{} {} {} {} {} {}", little_endian(file, 14, 4), little_endian(file, 10, 4), little_endian(file, 30, 4),
                                 little_endian(file, 34, 4) != 0, little_endian(file, 38, 4), little_endian(file, 42, 4))});
}

// The text before the pixels, with # for every run of digits.
void add_pnm_traces(Bytes file, FileTraces& traces) {
  constexpr int kLines = 3;
  std::string text;
  int lines = 0;
  for (const uint8_t byte : part_of(file, 0, kLongestTrace)) {
    const bool is_digit = text.size() > 1 && byte >= '0' && byte <= '9';
    if (!is_digit) text += static_cast<char>(byte);
    if (is_digit && text.back() != '#') text += '#';
    if (byte == '\n' && ++lines == kLines) break;
  }
  traces.push_back({"PNM header", text});
}

std::optional<size_t> riff_end(Bytes file) {
  const size_t size = little_endian(file, 4, 4);
  return 8 + size + size % 2;
}

std::optional<size_t> end_of(ImageFormat format, Bytes file) {
  constexpr size_t kSizeInBmp = 2;
  switch (format) {
    case ImageFormat::kJpeg:
      return jpeg_end(file);
    case ImageFormat::kPng:
      return png_end(file);
    case ImageFormat::kWebp:
      return riff_end(file);
    case ImageFormat::kBmp:
      return little_endian(file, kSizeInBmp, 4);
    default:
      return file.size();
  }
}

// More bytes than this are another image, such as the preview of a camera, and their number depends on what it shows.
void add_end_traces(ImageFormat format, Bytes file, FileTraces& traces) {
  constexpr size_t kMostCounted = 1024, kStart = 16;
  const auto end = end_of(format, file);
  if (!end) return traces.push_back({"bytes after the image", "-1"});
  const Bytes rest = file.subspan(std::min(*end, file.size()));
  traces.push_back({"bytes after the image", std::to_string(std::min(rest.size(), kMostCounted))});
  if (!rest.empty()) traces.push_back({"text after the image", trace_value(part_of(rest, 0, kStart))});
}

void add_format_traces(ImageFormat format, Bytes file, FileTraces& traces) {
  switch (format) {
    case ImageFormat::kJpeg:
      return add_jpeg_traces(file, traces);
    case ImageFormat::kPng:
      return add_png_traces(file, traces);
    case ImageFormat::kWebp:
      return add_webp_traces(file, traces);
    case ImageFormat::kTiff:
      return add_tiff_traces(file, traces);
    case ImageFormat::kBmp:
      return add_bmp_traces(file, traces);
    case ImageFormat::kPnm:
      return add_pnm_traces(file, traces);
  }
}

}  // namespace

FileTraces file_traces(Bytes file) {
  FileTraces traces;
  const auto format = image_format(file);
  if (!format) return traces;
  add_exif_traces("EXIF", exif_block(file), traces);
  add_format_traces(*format, file, traces);
  add_end_traces(*format, file, traces);
  return traces;
}

}  // namespace debias
