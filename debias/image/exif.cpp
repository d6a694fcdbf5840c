#include "debias/image/exif.h"

#include <algorithm>
#include <string_view>

#include "debias/image/image_format.h"

namespace debias {
namespace {

enum class ByteOrder { kLittle, kBig };

// Zero beyond the end.
uint64_t number(std::span<const uint8_t> bytes, size_t at, size_t size, ByteOrder order) {
  if (at > bytes.size() || size > bytes.size() - at) return 0;
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) value = value << 8 | bytes[at + (order == ByteOrder::kBig ? i : size - 1 - i)];
  return value;
}

bool begins_with(std::span<const uint8_t> bytes, std::string_view start) {
  return bytes.size() >= start.size() && std::equal(start.begin(), start.end(), bytes.begin());
}

std::span<const uint8_t> part(std::span<const uint8_t> bytes, size_t at, size_t size) {
  at = std::min(at, bytes.size());
  return bytes.subspan(at, std::min(size, bytes.size() - at));
}

constexpr std::string_view kExifMark("Exif\0\0", 6);

std::span<const uint8_t> block_of_jpeg(std::span<const uint8_t> file) {
  constexpr uint8_t kScan = 0xda, kEnd = 0xd9, kApp1 = 0xe1;
  for (size_t at = 2; at + 4 <= file.size();) {
    if (file[at] != 0xff) {  // bytes between markers
      ++at;
      continue;
    }
    const uint8_t marker = file[at + 1];
    if (marker == kScan || marker == kEnd) break;
    if (marker == 0xff || marker == 0x00 || marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8)) {  // fill bytes, and markers alone
      at += marker == 0xff ? 1 : 2;
      continue;
    }
    const size_t size = number(file, at + 2, 2, ByteOrder::kBig);
    if (size < 2) break;
    const auto segment = part(file, at + 4, size - 2);
    if (marker == kApp1 && begins_with(segment, kExifMark)) return segment;
    at += 2 + size;
  }
  return {};
}

std::span<const uint8_t> block_of_png(std::span<const uint8_t> file) {
  for (size_t at = 8; at + 12 <= file.size();) {
    const size_t size = number(file, at, 4, ByteOrder::kBig);
    if (begins_with(part(file, at + 4, 4), "eXIf")) return part(file, at + 8, size);
    at += 12 + size;
  }
  return {};
}

std::span<const uint8_t> block_of_webp(std::span<const uint8_t> file) {
  for (size_t at = 12; at + 8 <= file.size();) {
    const size_t size = number(file, at + 4, 4, ByteOrder::kLittle);
    if (begins_with(part(file, at, 4), "EXIF")) return part(file, at + 8, size);
    at += 8 + size + size % 2;
  }
  return {};
}

std::span<const uint8_t> exif_block(std::span<const uint8_t> file) {
  switch (image_format(file).value_or(ImageFormat::kTiff)) {
    case ImageFormat::kJpeg:
      return block_of_jpeg(file);
    case ImageFormat::kPng:
      return block_of_png(file);
    case ImageFormat::kWebp:
      return block_of_webp(file);
    default:
      return {};
  }
}

struct ExifDirectory {
  std::span<const uint8_t> block;  // from its byte order on; empty where there is none
  ByteOrder order = ByteOrder::kLittle;
};

ExifDirectory exif_directory(std::span<const uint8_t> file) {
  std::span<const uint8_t> block = exif_block(file);
  if (begins_with(block, kExifMark)) block = block.subspan(kExifMark.size());
  if (!begins_with(block, "II") && !begins_with(block, "MM")) return {};
  return {block, block[0] == 'I' ? ByteOrder::kLittle : ByteOrder::kBig};
}

// Where the entry of this tag and type begins in the first directory; 0 where there is none.
size_t exif_entry(const ExifDirectory& directory, uint64_t tag, uint64_t type) {
  constexpr size_t kEntry = 12;
  const size_t first = number(directory.block, 4, 4, directory.order);
  const size_t entries = number(directory.block, first, 2, directory.order);
  for (size_t i = 0, at = first + 2; i < entries && at + kEntry <= directory.block.size(); ++i, at += kEntry) {
    if (number(directory.block, at, 2, directory.order) != tag) continue;
    return number(directory.block, at + 2, 2, directory.order) == type ? at : 0;
  }
  return 0;
}

std::string exif_text(const ExifDirectory& directory, uint64_t tag) {
  constexpr uint64_t kAscii = 2;
  constexpr size_t kLongest = 64, kInPlace = 4;
  const size_t entry = exif_entry(directory, tag, kAscii);
  if (entry == 0) return "";
  const size_t size = number(directory.block, entry + 4, 4, directory.order);
  const size_t at = size <= kInPlace ? entry + 8 : number(directory.block, entry + 8, 4, directory.order);
  const auto bytes = part(directory.block, at, std::min(size, kLongest));
  std::string text(bytes.begin(), std::find(bytes.begin(), bytes.end(), 0));
  text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

Orientation exif_orientation(std::span<const uint8_t> file) {
  constexpr uint64_t kOrientation = 0x0112, kShort = 3;
  const ExifDirectory directory = exif_directory(file);
  const size_t entry = exif_entry(directory, kOrientation, kShort);
  return entry == 0 ? Orientation{} : orientation_of(static_cast<int64_t>(number(directory.block, entry + 8, 2, directory.order)));
}

std::string exif_camera(std::span<const uint8_t> file) {
  constexpr uint64_t kMake = 0x010f, kModel = 0x0110;
  const ExifDirectory directory = exif_directory(file);
  const std::string make = exif_text(directory, kMake), model = exif_text(directory, kModel);
  return make.empty() || model.empty() ? make + model : make + " " + model;
}

}  // namespace debias
