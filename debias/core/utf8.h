// Which bytes are text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace debias {

struct Utf8Character {
  uint32_t code = 0;
  size_t size = 0;  // in bytes; 0 where the text does not begin with a character of UTF-8
};

// Requires a text that is not empty. Forms that are too long, halves of pairs of UTF-16 and codes above 0x10ffff are not characters.
Utf8Character first_utf8_character(std::string_view text);

// The length of the longest beginning that is UTF-8: text.size() where all of it is.
size_t utf8_length(std::string_view text);

}  // namespace debias
