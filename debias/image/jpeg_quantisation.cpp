#include "debias/image/jpeg_quantisation.h"

#include <algorithm>

#include "debias/image/image_format.h"

namespace debias {
namespace {

constexpr size_t kCoefficients = 64;

int64_t big_endian(std::span<const uint8_t> bytes, size_t at) { return bytes[at] << 8 | bytes[at + 1]; }

// The tables of one DQT segment, each a byte of precision and number, then 64 values of one or two bytes.
void append_sums(std::span<const uint8_t> segment, std::string& sums) {
  for (size_t at = 0; at < segment.size();) {
    const size_t width = segment[at] >> 4 == 0 ? 1 : 2;
    ++at;
    if (segment.size() - at < kCoefficients * width) return;
    int64_t sum = 0;
    for (size_t i = 0; i < kCoefficients; ++i, at += width) sum += width == 1 ? segment[at] : big_endian(segment, at);
    sums += (sums.empty() ? "" : " ") + std::to_string(sum);
  }
}

}  // namespace

std::string jpeg_quantisation(std::span<const uint8_t> file) {
  constexpr uint8_t kTables = 0xdb, kScan = 0xda, kEnd = 0xd9, kMark = 0xff;
  if (image_format(file) != ImageFormat::kJpeg) return "";
  std::string sums;
  for (size_t at = 2; at + 4 <= file.size();) {
    const uint8_t marker = file[at + 1];
    if (file[at] != kMark || marker == kMark) {  // bytes between markers, fill bytes
      ++at;
      continue;
    }
    if (marker == kScan || marker == kEnd) break;
    const auto size = static_cast<size_t>(big_endian(file, at + 2));
    if (size < 2) break;
    if (marker == kTables) append_sums(file.subspan(at + 4, std::min(size - 2, file.size() - at - 4)), sums);
    at += 2 + size;
  }
  return sums;
}

}  // namespace debias
