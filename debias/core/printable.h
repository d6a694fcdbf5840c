// Text from files in messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace debias {

// In double quotes, as one line of ASCII (JSON's escapes) of at most about 60 characters: a hostile name neither floods nor steers a
// terminal.
std::string printable(std::string_view text);

// Up to the first end of a line: what another library says may have more of them, a message has one.
std::string first_line(std::string_view text);

// The text of a message, unchanged except for what could end its line or steer a terminal: control characters (C0, DEL and C1), the
// separators of lines and paragraphs, the characters that turn the direction of writing, and bytes that are not UTF-8 become \x1b and the
// like.
std::string without_control_characters(std::string_view text);

// The name of a file or class as tables and results hold it: unchanged if it is UTF-8, else without_control_characters(name).
std::string in_utf8(const std::string& name);

// The name that in_utf8 wrote so: each \xe4 and the like becomes its byte.
std::string name_of_utf8(const std::string& text);

// The same of a text of several lines, which stay lines.
std::string lines_without_control_characters(std::string_view text);

// JSON that says the same, with those characters as \u009b and the like; bytes that are not UTF-8 become U+FFFD.
std::string json_without_control_characters(const nlohmann::ordered_json& json, int indent);

// Which bytes are text.
struct Utf8Character {
  uint32_t code = 0;
  size_t size = 0;  // in bytes; 0 where the text does not begin with a character of UTF-8
};

// Requires a text that is not empty. Forms that are too long, halves of pairs of UTF-16 and codes above 0x10ffff are not characters.
Utf8Character first_utf8_character(std::string_view text);

// The length of the longest beginning that is UTF-8: text.size() where all of it is.
size_t utf8_length(std::string_view text);

}  // namespace debias
