// Characters of text: to and from UTF-8 and Windows-1252, and what they are to a tokeniser.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "debias/core/options.h"

namespace debias {

enum class Encoding { kUtf8, kLatin1 };
template <>
struct EnumNames<Encoding> {
  static constexpr std::array<std::pair<std::string_view, Encoding>, 2> values = {
      {{"utf8", Encoding::kUtf8}, {"latin1", Encoding::kLatin1}}};
};

// kLatin1 is read as Windows-1252, which has quotation marks and dashes where Latin-1 has control characters; every byte is a character of
// it. Bytes that are not UTF-8 become U+FFFD: who reads files rejects them before (text_lines.h).
std::u32string characters(std::string_view bytes, Encoding encoding = Encoding::kUtf8);
std::string utf8(std::u32string_view text);

bool is_space(char32_t character);  // as of Python's str.split()
bool is_word(char32_t character);   // a letter, a digit or `_`: \w of Python's re, except for rare signs above U+024F
bool is_upper(char32_t character);  // of ASCII, Latin-1, Greek and Cyrillic
char32_t lower(char32_t character);

std::string lower_case(std::string_view utf8_text);

}  // namespace debias
