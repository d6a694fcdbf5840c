// Texts that look alike: Unicode's normal form C, letters without case, and blanks of any kind.
//
// A Mac writes "é" in the names of files as e and an accent, a spreadsheet as one character; a copied cell ends with a blank that does not
// break. Bytes that are not UTF-8 stay as they are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace debias {

// Normal form C (Unicode Standard Annex 15): characters that are composed wherever they can be.
std::string normal_form(std::string_view text);

// normal_form in lower case, as far as a letter's lower case is one character.
std::string without_case(std::string_view text);

// Without blanks at its ends: spaces of any width, broken or not, tabs, ends of lines, and characters of no width.
std::string_view without_blanks(std::string_view text);

// normal_form without blanks at its ends, and with one space in the place of others; without characters of no width.
std::string plain_text(std::string_view text);

// Adds a character, below 0x110000.
void append_utf8(uint32_t code, std::string& text);

}  // namespace debias
