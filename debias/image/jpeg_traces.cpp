#include "debias/image/jpeg_traces.h"

#include <fmt/format.h>

#include <cstring>

#include "debias/image/file_segments.h"
#include "debias/image/iptc_traces.h"
#include "debias/image/xmp_traces.h"

namespace debias {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr uint8_t kMark = 0xff, kEnd = 0xd9, kFirstRestart = 0xd0, kLastRestart = 0xd7;
constexpr uint8_t kHuffman = 0xc4, kQuantisation = 0xdb, kRestart = 0xdd, kComment = 0xfe, kApp0 = 0xe0, kApp15 = 0xef;

bool is_app(uint8_t marker) { return marker >= kApp0 && marker <= kApp15; }

// The tables of the standard have a code for each of the 12 sizes or the 162 pairs of run and size; fitted ones for those that occur.
bool has_standard_tables(Bytes segment) {
  constexpr size_t kLengths = 16, kSizes = 12, kPairs = 162;
  for (size_t at = 0; at + 1 + kLengths <= segment.size();) {
    size_t codes = 0;
    for (const uint8_t count : part_of(segment, at + 1, kLengths)) codes += count;
    if (codes != (segment[at] >> 4 == 0 ? kSizes : kPairs)) return false;
    at += 1 + kLengths + codes;
  }
  return true;
}

std::string segment_name(uint8_t marker, Bytes content) {
  if (is_app(marker)) return fmt::format("APP{} {}", marker - kApp0, trace_key(part_of(content, 0, 16)));
  switch (marker) {
    case kHuffman:
      return has_standard_tables(content) ? "DHT" : "fitted DHT";
    case kQuantisation:
      return fmt::format("DQT {}", content.size());
    case kRestart:
      return "DRI";
    case kComment:
      return "COM";
    default:
      return fmt::format("{:02x}", marker);
  }
}

void add_segment(uint8_t marker, Bytes content, const std::string& name, FileTraces& traces) {
  if (marker == kRestart) traces.push_back({"JPEG restart interval", std::to_string(big_endian(content, 0, 2))});
  if (marker == kComment) add_text_trace("JPEG comment", trace_value(content), traces);
  if (!is_app(marker) || begins_with(content, "Exif")) return;
  if (begins_with(content, kXmpMark)) return add_xmp_traces(content.subspan(kXmpMark.size()), traces);
  if (begins_with(content, kPhotoshopMark)) return add_iptc_traces(content.subspan(kPhotoshopMark.size()), traces);
  traces.push_back({"JPEG " + name, trace_value(content)});
}

}  // namespace

void add_jpeg_traces(Bytes file, FileTraces& traces) {
  std::string order;
  for_each_jpeg_segment(file, [&](uint8_t marker, Bytes content) {
    const std::string name = segment_name(marker, content);
    add_segment(marker, content, name, traces);
    order += name + ", ";
    return true;
  });
  traces.push_back({"JPEG markers", order, TraceKind::kOrder});
}

std::optional<size_t> jpeg_end(Bytes file) {
  for (size_t at = 2; at + 1 < file.size();) {
    const void* found = std::memchr(file.data() + at, kMark, file.size() - at);
    if (found == nullptr) return std::nullopt;
    at = static_cast<size_t>(static_cast<const uint8_t*>(found) - file.data());
    if (at + 1 >= file.size()) return std::nullopt;
    const uint8_t marker = file[at + 1];
    if (marker == kEnd) return at + 2;
    if (marker == kMark) {  // a fill byte
      ++at;
      continue;
    }
    const bool alone = marker <= 0x01 || (marker >= kFirstRestart && marker <= kLastRestart);
    at += alone ? 2 : 2 + std::max<size_t>(2, big_endian(file, at + 2, 2));
  }
  return std::nullopt;
}

}  // namespace debias
