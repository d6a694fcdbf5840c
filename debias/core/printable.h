// Text from files in messages.
#pragma once

#include <string>
#include <string_view>

namespace debias {

// In double quotes, as one line of ASCII (JSON's escapes) of at most about 60 characters: a hostile name neither floods nor steers a
// terminal.
std::string printable(std::string_view text);

}  // namespace debias
