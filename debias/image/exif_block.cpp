#include "debias/image/exif_block.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "debias/image/file_segments.h"
#include "debias/image/image_format.h"

namespace debias {
namespace {

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
  std::span<const uint8_t> block;
  for_each_riff_chunk(file, [&](std::string_view type, std::span<const uint8_t> content) {
    if (type == "EXIF") block = content;
    return block.empty();
  });
  return block;
}

std::span<const uint8_t> block_of(std::span<const uint8_t> file) {
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

constexpr uint16_t kPhotographPointer = 0x8769, kPositionPointer = 0x8825;

void visit_directory(const ExifBlock& block, size_t first, ExifPart part, const std::function<void(const ExifEntry&)>& visit) {
  constexpr size_t kEntry = 12, kInPlace = 4, kMostEntries = 256;
  const size_t entries = std::min<size_t>(block.number(first, 2), kMostEntries);
  for (size_t i = 0, at = first + 2; i < entries && at + kEntry <= block.bytes.size(); ++i, at += kEntry) {
    ExifEntry entry{part,
                    static_cast<uint16_t>(block.number(at, 2)),
                    static_cast<uint16_t>(block.number(at + 2, 2)),
                    static_cast<uint32_t>(block.number(at + 4, 4)),
                    {}};
    if (entry.tag == kPhotographPointer || entry.tag == kPositionPointer) continue;
    const size_t size = entry.count * exif_type_size(entry.type);
    entry.content = part_of(block.bytes, size <= kInPlace ? at + 8 : block.number(at + 8, 4), size);
    visit(entry);
  }
}

// Where the directory begins to which the first one points; 0 where there is none.
size_t pointed_directory(const ExifBlock& block, uint16_t pointer) {
  constexpr size_t kEntry = 12;
  const size_t first = block.first_directory(), entries = block.number(first, 2);
  for (size_t i = 0, at = first + 2; i < entries && at + kEntry <= block.bytes.size(); ++i, at += kEntry) {
    if (block.number(at, 2) == pointer) return block.number(at + 8, 4);
  }
  return 0;
}

}  // namespace

uint64_t ExifBlock::number(size_t at, size_t size) const {
  if (at > bytes.size() || size > bytes.size() - at) return 0;
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) value = value << 8 | bytes[at + (order == ByteOrder::kBig ? i : size - 1 - i)];
  return value;
}

ExifBlock exif_block(std::span<const uint8_t> file) {
  std::span<const uint8_t> block = block_of(file);
  if (begins_with(block, kExifMark)) block = block.subspan(kExifMark.size());
  if (!begins_with(block, "II") && !begins_with(block, "MM")) return {};
  return {block, block[0] == 'I' ? ByteOrder::kLittle : ByteOrder::kBig};
}

ExifBlock tiff_block(std::span<const uint8_t> file) {
  if (begins_with(file, std::string_view("II*\0", 4))) return {file, ByteOrder::kLittle};
  if (begins_with(file, std::string_view("MM\0*", 4))) return {file, ByteOrder::kBig};
  return {};
}

size_t exif_type_size(uint16_t type) {
  constexpr std::array<size_t, 13> kSizes = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8};
  return type < kSizes.size() ? kSizes[type] : 0;
}

void for_each_exif_entry(const ExifBlock& block, const std::function<void(const ExifEntry&)>& visit) {
  if (block.bytes.empty()) return;
  visit_directory(block, block.first_directory(), ExifPart::kImage, visit);
  if (const size_t own = pointed_directory(block, kPhotographPointer); own != 0) visit_directory(block, own, ExifPart::kPhotograph, visit);
  if (const size_t own = pointed_directory(block, kPositionPointer); own != 0) visit_directory(block, own, ExifPart::kPosition, visit);
}

}  // namespace debias
