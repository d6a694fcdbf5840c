#include "debias/report/markup.h"

#include <fmt/format.h>

#include <cstdint>

namespace debias {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Bytes of the UTF-8 character at the front of `text`; 0 where there is none (overlong, surrogate, cut or stray).
size_t character_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return 0;
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool surrogate = lead == 0xED && second >= 0xA0;
  const bool beyond = lead == 0xF4 && second >= 0x90;
  const bool no_character = lead == 0xEF && second == 0xBF && byte(2) >= 0xBE;
  return overlong || surrogate || beyond || no_character ? 0 : bytes;
}

std::string_view entity(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return "";
  }
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t bytes = character_bytes(text);
    const char front = text[0];
    const bool control = bytes == 1 && ((static_cast<unsigned char>(front) < 0x20 && front != '\n' && front != '\t') || front == 0x7F);
    if (bytes == 0 || control) {
      out += kReplacement;
    } else if (const auto as = entity(front); !as.empty()) {
      out += as;
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return out;
}

Html plain(std::string_view text) { return {escaped(text)}; }
Html code(std::string_view text) { return element("code", "", plain(text)); }
Html strong(std::string_view text) { return element("strong", "", plain(text)); }

Html element(std::string_view tag, std::string_view css_class, const Html& content) {
  if (css_class.empty()) return {fmt::format("<{0}>{1}</{0}>", tag, content.source)};
  return {fmt::format("<{0} class=\"{1}\">{2}</{0}>", tag, css_class, content.source)};
}

namespace {

std::string data_uri(std::string_view format, std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out = fmt::format("data:image/{};base64,", format);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t left = bytes.size() - i;
    const auto at = [&](size_t k) { return k < left ? static_cast<uint32_t>(static_cast<unsigned char>(bytes[i + k])) : 0U; };
    const uint32_t group = at(0) << 16 | at(1) << 8 | at(2);
    out += kDigits[group >> 18 & 63];
    out += kDigits[group >> 12 & 63];
    out += left > 1 ? kDigits[group >> 6 & 63] : '=';
    out += left > 2 ? kDigits[group & 63] : '=';
  }
  return out;
}

}  // namespace

std::string png_data_uri(std::string_view bytes) { return data_uri("png", bytes); }
std::string jpeg_data_uri(std::string_view bytes) { return data_uri("jpeg", bytes); }

}  // namespace debias
