#include "debias/image/exif.h"

#include <algorithm>
#include <string_view>

#include "debias/image/exif_block.h"
#include "debias/image/file_segments.h"

namespace debias {
namespace {

// Where the entry of this tag and type begins in the directory at `first`; 0 where there is none.
size_t exif_entry(const ExifBlock& block, size_t first, uint64_t tag, uint64_t type) {
  constexpr size_t kEntry = 12;
  const size_t entries = block.number(first, 2);
  for (size_t i = 0, at = first + 2; i < entries && at + kEntry <= block.bytes.size(); ++i, at += kEntry) {
    if (block.number(at, 2) != tag) continue;
    return block.number(at + 2, 2) == type ? at : 0;
  }
  return 0;
}

// The directory of the photograph's own values, to which an entry of the first one points; 0 where there is none.
size_t photograph_directory(const ExifBlock& block) {
  constexpr uint64_t kPointer = 0x8769, kLong = 4;
  const size_t entry = exif_entry(block, block.first_directory(), kPointer, kLong);
  return entry == 0 ? 0 : block.number(entry + 8, 4);
}

std::string exif_text(const ExifBlock& block, size_t first, uint64_t tag) {
  constexpr uint64_t kAscii = 2;
  constexpr size_t kLongest = 64, kInPlace = 4;
  const size_t entry = exif_entry(block, first, tag, kAscii);
  if (entry == 0) return "";
  const size_t size = block.number(entry + 4, 4);
  const size_t at = size <= kInPlace ? entry + 8 : block.number(entry + 8, 4);
  const auto bytes = part_of(block.bytes, at, std::min(size, kLongest));
  std::string text(bytes.begin(), std::find(bytes.begin(), bytes.end(), 0));
  text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

Orientation exif_orientation(std::span<const uint8_t> file) {
  constexpr uint64_t kOrientation = 0x0112, kShort = 3;
  const ExifBlock block = exif_block(file);
  const size_t entry = exif_entry(block, block.first_directory(), kOrientation, kShort);
  return entry == 0 ? Orientation{} : orientation_of(static_cast<int64_t>(block.number(entry + 8, 2)));
}

std::string exif_camera(std::span<const uint8_t> file) {
  constexpr uint64_t kMake = 0x010f, kModel = 0x0110;
  const ExifBlock block = exif_block(file);
  const size_t first = block.first_directory();
  const std::string make = exif_text(block, first, kMake), model = exif_text(block, first, kModel);
  return make.empty() || model.empty() ? make + model : make + " " + model;
}

std::string exif_software(std::span<const uint8_t> file) {
  constexpr uint64_t kSoftware = 0x0131;
  const ExifBlock block = exif_block(file);
  return exif_text(block, block.first_directory(), kSoftware);
}

std::string exif_month(std::span<const uint8_t> file) {
  constexpr uint64_t kTaken = 0x9003, kChanged = 0x0132;
  constexpr size_t kMonth = 7;  // of "2026:05:14 10:00:00"
  const ExifBlock block = exif_block(file);
  const size_t own = photograph_directory(block);
  const std::string taken = own == 0 ? "" : exif_text(block, own, kTaken);
  return (taken.empty() ? exif_text(block, block.first_directory(), kChanged) : taken).substr(0, kMonth);
}

}  // namespace debias
