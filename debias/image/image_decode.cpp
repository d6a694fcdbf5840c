#include "debias/image/image_decode.h"

#include <algorithm>

#include "debias/core/file_bytes.h"
#include "debias/core/file_error.h"
#include "debias/image/bmp_decode.h"
#include "debias/image/exif.h"
#include "debias/image/image_format.h"
#include "debias/image/jpeg_decode.h"
#include "debias/image/png_decode.h"
#include "debias/image/pnm_decode.h"
#include "debias/image/tiff_decode.h"
#include "debias/image/webp_decode.h"

namespace debias {
namespace {

std::string first_bytes(std::span<const uint8_t> bytes) {
  std::string text;
  for (uint8_t byte : bytes.first(std::min<size_t>(bytes.size(), 4))) text += fmt::format("{}{:02x}", text.empty() ? "" : " ", byte);
  return text;
}

FileError no_format(std::span<const uint8_t> bytes, const std::string& path) {
  if (bytes.empty()) return {path, "is empty"};
  const std::string_view unread = unread_image_format(bytes);
  if (!unread.empty()) return {path, fmt::format("is an image in the unsupported format {}; supported are {}", unread, kReadFormats)};
  return {path, fmt::format("is not an image of a supported format ({}): it begins with {}", kReadFormats, first_bytes(bytes))};
}

PartialImage decode_stored(std::span<const uint8_t> bytes, const std::string& path, const RegionChooser& choose) {
  const std::optional<ImageFormat> format = image_format(bytes);
  if (!format) throw no_format(bytes, path);
  switch (*format) {
    case ImageFormat::kJpeg:
      return decode_jpeg(bytes, path, choose);
    case ImageFormat::kPng:
      return PartialImage::whole(decode_png(bytes, path));
    case ImageFormat::kWebp:
      return PartialImage::whole(decode_webp(bytes, path));
    case ImageFormat::kTiff:
      return PartialImage::whole(decode_tiff(bytes, path));
    case ImageFormat::kBmp:
      return PartialImage::whole(decode_bmp(bytes, path));
    case ImageFormat::kPnm:
      return PartialImage::whole(decode_pnm(bytes, path));
  }
  throw no_format(bytes, path);
}

}  // namespace

PartialImage decode_region(std::span<const uint8_t> bytes, const std::string& path, const RegionChooser& choose, ExifOrientation exif) {
  const Orientation orientation = exif == ExifOrientation::kApplied ? exif_orientation(bytes) : Orientation{};
  if (orientation.upright()) return decode_stored(bytes, path, choose);
  return turned(decode_stored(bytes, path, of_stored(choose, orientation)), orientation);
}

PartialImage read_region(const std::string& path, const RegionChooser& choose, ExifOrientation exif) {
  return decode_region(read_file_bytes(path), path, choose, exif);
}

Image decode_image(std::span<const uint8_t> bytes, const std::string& path, ExifOrientation exif) {
  return decode_region(bytes, path, whole_region, exif).image;
}

Image read_image(const std::string& path, ExifOrientation exif) { return read_region(path, whole_region, exif).image; }

}  // namespace debias
