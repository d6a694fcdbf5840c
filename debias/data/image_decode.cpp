#include "debias/data/image_decode.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "debias/data/file_bytes.h"
#include "debias/data/file_error.h"
#include "debias/data/jpeg_decode.h"
#include "debias/data/png_decode.h"

namespace debias {
namespace {

bool begins_with(std::span<const uint8_t> bytes, std::span<const uint8_t> start) {
  return bytes.size() >= start.size() && std::equal(start.begin(), start.end(), bytes.begin());
}

std::string first_bytes(std::span<const uint8_t> bytes) {
  std::string text;
  for (uint8_t byte : bytes.first(std::min<size_t>(bytes.size(), 4))) text += fmt::format("{}{:02x}", text.empty() ? "" : " ", byte);
  return text;
}

}  // namespace

PartialImage decode_region(std::span<const uint8_t> bytes, const std::string& path, const RegionChooser& choose) {
  constexpr std::array<uint8_t, 3> kJpeg = {0xff, 0xd8, 0xff};
  constexpr std::array<uint8_t, 8> kPng = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  if (bytes.empty()) throw FileError(path, "is empty");
  if (begins_with(bytes, kJpeg)) return decode_jpeg(bytes, path, choose);
  if (begins_with(bytes, kPng)) return PartialImage::whole(decode_png(bytes, path));
  throw FileError(path, fmt::format("is neither a JPEG nor a PNG image: it begins with {}", first_bytes(bytes)));
}

PartialImage read_region(const std::string& path, const RegionChooser& choose) {
  return decode_region(read_file_bytes(path), path, choose);
}

Image decode_image(std::span<const uint8_t> bytes, const std::string& path) { return decode_region(bytes, path, whole_region).image; }

Image read_image(const std::string& path) { return read_region(path, whole_region).image; }

bool has_image_extension(const std::string& file_name) {
  const size_t dot = file_name.rfind('.');
  if (dot == std::string::npos) return false;
  std::string extension = file_name.substr(dot);
  std::transform(extension.begin(), extension.end(), extension.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

}  // namespace debias
