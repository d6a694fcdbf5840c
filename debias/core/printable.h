// Text from files in messages.
#pragma once

#include <string>
#include <string_view>

namespace debias {

// In double quotes, as one line of ASCII (JSON's escapes) of at most about 60 characters: a hostile name neither floods nor steers a
// terminal.
std::string printable(std::string_view text);

// The text of a message as it is, but for what could end its line or steer a terminal: control characters (C0, DEL and C1), the separators
// of lines and paragraphs, the characters that turn the direction of writing, and bytes that are not UTF-8 become \x1b and the like.
std::string without_control_characters(std::string_view text);

}  // namespace debias
