// A value that a program or camera wrote into an image file beside the pixels, under the name that an audit shows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace debias {

enum class TraceKind {
  kValue,
  kOrder,  // which parts a file has, in their order: says less than their values
  kSize    // of a part whose bytes are those of the pixels: content affects it
};

struct FileTrace {
  std::string name;
  std::string value;  // a number or a text; bytes as they are, at most kLongestTrace
  TraceKind kind = TraceKind::kValue;
};

using FileTraces = std::vector<FileTrace>;

constexpr size_t kLongestTrace = 64;

// The first kLongestTrace bytes.
std::string trace_value(std::span<const uint8_t> content);

// The text up to a zero byte, at most 32 bytes, without what cannot be printed.
std::string trace_key(std::span<const uint8_t> content);
inline std::string trace_key(std::string_view text) { return trace_key({reinterpret_cast<const uint8_t*>(text.data()), text.size()}); }

// A text; one that begins with a date, such as 2026:05:14 10:00:00 or 2026-05-14T10:00, gives four numbers in its place: NAME day, month,
// weekday (0 is Sunday) and, if there is a time, hour.
void add_text_trace(const std::string& name, const std::string& text, FileTraces& traces);

}  // namespace debias
