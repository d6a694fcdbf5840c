// Text of a page, in HTML and SVG, that is also valid XML.
#pragma once

#include <string>
#include <string_view>

namespace debias {

// Markup. Other text passes through plain(), so that no name or message can become an element.
struct Html {
  std::string source;

  Html& operator+=(const Html& more) {
    source += more.source;
    return *this;
  }
};
inline Html operator+(Html a, const Html& b) { return a += b; }

// Escapes & < > " ' as entities, and replaces control characters and invalid UTF-8 by U+FFFD.
std::string escaped(std::string_view text);

Html plain(std::string_view text);
Html code(std::string_view text);
Html strong(std::string_view text);
// <TAG class="CLASS">...</TAG>, without the attribute where `css_class` is empty.
Html element(std::string_view tag, std::string_view css_class, const Html& content);

// "data:image/png;base64,..." of bytes.
std::string png_data_uri(std::string_view bytes);
std::string jpeg_data_uri(std::string_view bytes);

}  // namespace debias
