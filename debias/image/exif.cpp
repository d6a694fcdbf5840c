#include "debias/image/exif.h"

#include <algorithm>
#include <string_view>

#include "debias/image/file_segments.h"
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

constexpr std::string_view kExifMark("Exif\0\0", 6);

std::span<const uint8_t> block_of_jpeg(std::span<const uint8_t> file) {
  constexpr uint8_t kApp1 = 0xe1;
  std::span<const uint8_t> block;
  for_each_jpeg_segment(file, [&](uint8_t marker, std::span<const uint8_t> content) {
    if (marker == kApp1 && begins_with(content, kExifMark)) block = content;
    return block.empty();
  });
  return block;
}

std::span<const uint8_t> block_of_png(std::span<const uint8_t> file) {
  std::span<const uint8_t> block;
  for_each_png_chunk(file, [&](std::string_view type, std::span<const uint8_t> content) {
    if (type == "eXIf") block = content;
    return block.empty();
  });
  return block;
}

std::span<const uint8_t> block_of_webp(std::span<const uint8_t> file) {
  for (size_t at = 12; at + 8 <= file.size();) {
    const size_t size = number(file, at + 4, 4, ByteOrder::kLittle);
    if (begins_with(part_of(file, at, 4), "EXIF")) return part_of(file, at + 8, size);
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

// Where the entry of this tag and type begins in the directory at `first`; 0 where there is none.
size_t exif_entry(const ExifDirectory& directory, size_t first, uint64_t tag, uint64_t type) {
  constexpr size_t kEntry = 12;
  const size_t entries = number(directory.block, first, 2, directory.order);
  for (size_t i = 0, at = first + 2; i < entries && at + kEntry <= directory.block.size(); ++i, at += kEntry) {
    if (number(directory.block, at, 2, directory.order) != tag) continue;
    return number(directory.block, at + 2, 2, directory.order) == type ? at : 0;
  }
  return 0;
}

size_t first_directory(const ExifDirectory& directory) { return number(directory.block, 4, 4, directory.order); }

// The directory of the photograph's own values, to which an entry of the first one points; 0 where there is none.
size_t photograph_directory(const ExifDirectory& directory) {
  constexpr uint64_t kPointer = 0x8769, kLong = 4;
  const size_t entry = exif_entry(directory, first_directory(directory), kPointer, kLong);
  return entry == 0 ? 0 : number(directory.block, entry + 8, 4, directory.order);
}

std::string exif_text(const ExifDirectory& directory, size_t first, uint64_t tag) {
  constexpr uint64_t kAscii = 2;
  constexpr size_t kLongest = 64, kInPlace = 4;
  const size_t entry = exif_entry(directory, first, tag, kAscii);
  if (entry == 0) return "";
  const size_t size = number(directory.block, entry + 4, 4, directory.order);
  const size_t at = size <= kInPlace ? entry + 8 : number(directory.block, entry + 8, 4, directory.order);
  const auto bytes = part_of(directory.block, at, std::min(size, kLongest));
  std::string text(bytes.begin(), std::find(bytes.begin(), bytes.end(), 0));
  text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

Orientation exif_orientation(std::span<const uint8_t> file) {
  constexpr uint64_t kOrientation = 0x0112, kShort = 3;
  const ExifDirectory directory = exif_directory(file);
  const size_t entry = exif_entry(directory, first_directory(directory), kOrientation, kShort);
  return entry == 0 ? Orientation{} : orientation_of(static_cast<int64_t>(number(directory.block, entry + 8, 2, directory.order)));
}

std::string exif_camera(std::span<const uint8_t> file) {
  constexpr uint64_t kMake = 0x010f, kModel = 0x0110;
  const ExifDirectory directory = exif_directory(file);
  const size_t first = first_directory(directory);
  const std::string make = exif_text(directory, first, kMake), model = exif_text(directory, first, kModel);
  return make.empty() || model.empty() ? make + model : make + " " + model;
}

std::string exif_software(std::span<const uint8_t> file) {
  constexpr uint64_t kSoftware = 0x0131;
  const ExifDirectory directory = exif_directory(file);
  return exif_text(directory, first_directory(directory), kSoftware);
}

std::string exif_time(std::span<const uint8_t> file) {
  constexpr uint64_t kTaken = 0x9003;
  const ExifDirectory directory = exif_directory(file);
  const size_t own = photograph_directory(directory);
  return own == 0 ? "" : exif_text(directory, own, kTaken);
}

std::string exif_month(std::span<const uint8_t> file) {
  constexpr uint64_t kChanged = 0x0132;
  constexpr size_t kMonth = 7;  // of "2026:05:14 10:00:00"
  const std::string taken = exif_time(file);
  const ExifDirectory directory = exif_directory(file);
  return (taken.empty() ? exif_text(directory, first_directory(directory), kChanged) : taken).substr(0, kMonth);
}

}  // namespace debias
