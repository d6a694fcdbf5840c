#include "debias/core/utf8.h"

#include <array>

namespace debias {

Utf8Character first_utf8_character(std::string_view text) {
  constexpr std::array<uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};  // that needs so many bytes
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t size = lead < 0x80 ? 1 : lead >> 5 == 0x6 ? 2 : lead >> 4 == 0xe ? 3 : lead >> 3 == 0x1e ? 4 : 0;
  if (size == 0 || size > text.size()) return {};
  uint32_t code = size == 1 ? lead : lead & (0x7fu >> size);
  for (size_t i = 1; i < size; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >> 6 != 0x2) return {};
    code = code << 6 | (byte & 0x3fu);
  }
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < kLeast[size] || code > 0x10ffff || surrogate ? Utf8Character{} : Utf8Character{code, size};
}

size_t utf8_length(std::string_view text) {
  size_t length = 0;
  while (length < text.size()) {
    const size_t size = first_utf8_character(text.substr(length)).size;
    if (size == 0) break;
    length += size;
  }
  return length;
}

}  // namespace debias
