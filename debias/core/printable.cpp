#include "debias/core/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

namespace debias {
namespace {

bool steers(uint32_t code) {
  const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const bool direction =
      code == 0x61c || code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return control || direction || code == 0x2028 || code == 0x2029;
}

}  // namespace

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

std::string without_control_characters(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const Utf8Character character = first_utf8_character(text);
    const std::string_view bytes = text.substr(0, std::max<size_t>(character.size, 1));
    if (character.size > 0 && !steers(character.code)) {
      shown += bytes;
    } else {
      for (const char byte : bytes) shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
    text.remove_prefix(bytes.size());
  }
  return shown;
}

std::string in_utf8(const std::string& name) { return utf8_length(name) == name.size() ? name : without_control_characters(name); }

std::string name_of_utf8(const std::string& text) {
  constexpr size_t kEscape = 4;  // \xe4
  std::string name;
  for (size_t i = 0; i < text.size();) {
    uint8_t byte = 0;
    const char* digits = text.data() + i + 2;
    const bool is_escape =
        text.compare(i, 2, "\\x") == 0 && i + kEscape <= text.size() && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    name += is_escape ? static_cast<char>(byte) : text[i];
    i += is_escape ? kEscape : 1;
  }
  return name;
}

std::string lines_without_control_characters(std::string_view text) {
  std::string shown;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    shown += without_control_characters(text.substr(begin, end - begin));
    if (end < text.size()) shown += '\n';
    begin = end + 1;
  }
  return shown;
}

std::string json_without_control_characters(const nlohmann::ordered_json& json, int indent) {
  const std::string written = json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string shown;
  for (std::string_view text = written; !text.empty();) {
    const Utf8Character character = first_utf8_character(text);
    const bool is_escaped = character.code >= 0x7f && steers(character.code);  // those below, dump() has escaped; its line ends stay
    shown += is_escaped ? fmt::format("\\u{:04x}", character.code) : std::string(text.substr(0, character.size));
    text.remove_prefix(character.size);
  }
  return shown;
}

std::string printable(std::string_view text) {
  constexpr size_t kShown = 60;
  std::string shown(text.substr(0, kShown));
  if (text.size() > kShown) shown += "...";
  return nlohmann::json(shown).dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace);
}

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
