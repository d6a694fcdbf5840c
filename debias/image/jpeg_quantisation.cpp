#include "debias/image/jpeg_quantisation.h"

#include "debias/image/file_segments.h"
#include "debias/image/image_format.h"

namespace debias {
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
