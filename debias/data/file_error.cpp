#include "debias/data/file_error.h"

namespace debias {

std::string without_control_characters(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    shown += code < 0x20 || code == 0x7f ? fmt::format("\\x{:02x}", code) : std::string(1, c);
  }
  return shown;
}

}  // namespace debias
