// The JSON header of a safetensors file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "debias/core/safetensors.h"

namespace debias {

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<TensorEntry> tensors;  // in order of their offsets
};

// Reads and checks the header of a file that holds `data_bytes` bytes behind it; SafetensorsFile lists what is rejected. Only what the
// format knows is ever stored, so that memory stays within a few times the text, however it is nested. Data errors name `path`.
SafetensorsHeader parse_safetensors_header(const std::string& text, uint64_t data_bytes, const std::string& path);

// The text, metadata first, tensors in the order given, padded with spaces to a multiple of 8. Usage errors: a name that is taken twice
// or reserved, text that is not UTF-8, a header over the limit.
std::string safetensors_header_text(const SafetensorsHeader& header, const std::string& path);

inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;  // the reference implementation's limit

}  // namespace debias
