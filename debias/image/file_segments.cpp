#include "debias/image/file_segments.h"

#include <algorithm>

namespace debias {

uint64_t big_endian(std::span<const uint8_t> bytes, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = at; i < at + size; ++i) value = value << 8 | (i < bytes.size() ? bytes[i] : 0U);
  return value;
}

uint64_t little_endian(std::span<const uint8_t> bytes, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) value |= static_cast<uint64_t>(at + i < bytes.size() ? bytes[at + i] : 0U) << 8 * i;
  return value;
}

bool begins_with(std::span<const uint8_t> bytes, std::string_view start) {
  return bytes.size() >= start.size() && std::equal(start.begin(), start.end(), bytes.begin());
}

std::span<const uint8_t> part_of(std::span<const uint8_t> bytes, size_t at, size_t size) {
  at = std::min(at, bytes.size());
  return bytes.subspan(at, std::min(size, bytes.size() - at));
}

void for_each_jpeg_segment(std::span<const uint8_t> file, const std::function<bool(uint8_t, std::span<const uint8_t>)>& visit) {
  constexpr uint8_t kMark = 0xff, kScan = 0xda, kEnd = 0xd9;
  for (size_t at = 2; at + 4 <= file.size();) {
    const uint8_t marker = file[at + 1];
    if (file[at] != kMark || marker == kMark) {  // bytes between markers, fill bytes
      ++at;
      continue;
    }
    if (marker == kScan || marker == kEnd) return;
    if (marker == 0x00 || marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8)) {  // markers alone
      at += 2;
      continue;
    }
    const size_t size = big_endian(file, at + 2, 2);
    if (size < 2 || !visit(marker, part_of(file, at + 4, size - 2))) return;
    at += 2 + size;
  }
}

void for_each_png_chunk(std::span<const uint8_t> file, const std::function<bool(std::string_view, std::span<const uint8_t>)>& visit) {
  constexpr size_t kType = 4;
  for (size_t at = 8; at + 12 <= file.size();) {
    const size_t size = big_endian(file, at, 4);
    const std::string_view type(reinterpret_cast<const char*>(file.data()) + at + 4, kType);
    if (!visit(type, part_of(file, at + 8, size))) return;
    at += 12 + size;
  }
}

void for_each_riff_chunk(std::span<const uint8_t> file, const std::function<bool(std::string_view, std::span<const uint8_t>)>& visit) {
  constexpr size_t kType = 4;
  for (size_t at = 12; at + 8 <= file.size();) {
    const size_t size = little_endian(file, at + 4, 4);
    const std::string_view type(reinterpret_cast<const char*>(file.data()) + at, kType);
    if (!visit(type, part_of(file, at + 8, size))) return;
    at += 8 + size + size % 2;
  }
}

}  // namespace debias
