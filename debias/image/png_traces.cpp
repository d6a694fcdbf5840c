#include "debias/image/png_traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "debias/image/file_segments.h"
#include "debias/image/xmp_traces.h"

namespace debias {
namespace {

using Bytes = std::span<const uint8_t>;

// From the byte after the first zero on.
Bytes after_zero(Bytes content) {
  const auto zero = std::ranges::find(content, uint8_t{0});
  return content.subspan(zero == content.end() ? content.size() : static_cast<size_t>(zero - content.begin()) + 1);
}

std::string text_value(std::string_view type, Bytes content) {
  constexpr size_t kFlags = 2;
  Bytes text = after_zero(content);
  if (type == "iTXt") text = after_zero(after_zero(text.subspan(std::min(text.size(), kFlags))));  // language, translated key
  return trace_value(text);  // of zTXt the compressed text: equal ones are equal
}

void add_time(Bytes content, FileTraces& traces) {
  if (content.size() < 7) return;
  add_text_trace("PNG time", fmt::format("{:04}:{:02}:{:02} {:02}", big_endian(content, 0, 2), content[2], content[3], content[4]), traces);
}

bool is_ancillary(std::string_view type) { return type[0] >= 'a' && type[0] <= 'z'; }

// Transparent and background colours, histograms and frames are the image's own; eXIf has traces of its own.
bool is_of_pixels(std::string_view type) {
  constexpr auto kTypes = std::to_array<std::string_view>({"tRNS", "hIST", "sPLT", "bKGD", "fdAT", "fcTL", "acTL", "eXIf"});
  return std::ranges::find(kTypes, type) != kTypes.end();
}

void add_chunk(std::string_view type, Bytes content, FileTraces& traces) {
  if (type == "tEXt" || type == "zTXt" || type == "iTXt") {
    if (begins_with(content, "XML:com.adobe.xmp"))
      add_xmp_traces(content, traces);
    else
      add_text_trace("PNG text " + trace_key(content), text_value(type, content), traces);
  } else if (type == "tIME") {
    add_time(content, traces);
  } else if (is_ancillary(type) && !is_of_pixels(type)) {
    traces.push_back({"PNG " + trace_key(type), trace_value(content)});
  }
}

// The two bytes of zlib, and whether the first block is stored: the window and the effort of the compression.
std::string zlib_text(Bytes data) {
  constexpr int kBlockType = 0x06;
  if (data.size() < 3) return "";
  return fmt::format("{:02x}{:02x}{}", data[0], data[1], (data[2] & kBlockType) == 0 ? " stored" : "");
}

}  // namespace

void add_png_traces(Bytes file, FileTraces& traces) {
  std::string order, last;
  size_t data_chunks = 0, first_size = 0;
  for_each_png_chunk(file, [&](std::string_view type, Bytes content) {
    if (type != last) order += (last = trace_key(type)) + " ";
    if (type == "IDAT" && ++data_chunks == 1) {
      first_size = content.size();
      traces.push_back({"PNG compression", zlib_text(content)});
    }
    add_chunk(type, content, traces);
    return type != "IEND";
  });
  if (data_chunks > 1) traces.push_back({"PNG IDAT size", std::to_string(first_size), TraceKind::kSize});
  traces.push_back({"PNG chunks", order, TraceKind::kOrder});
}

std::optional<size_t> png_end(Bytes file) {
  std::optional<size_t> end;
  for_each_png_chunk(file, [&](std::string_view type, Bytes content) {
    constexpr size_t kChecksum = 4;
    if (type == "IEND") end = static_cast<size_t>(content.data() + content.size() - file.data()) + kChecksum;
    return !end;
  });
  return end;
}

}  // namespace debias
