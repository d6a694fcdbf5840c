// The names and bytes of all tensors of a checkpoint.
#pragma once

#include <string>

#include "debias/core/safetensors.h"

namespace debias {

inline std::string tensor_bytes(const std::string& checkpoint) {
  std::string bytes;
  const auto file = SafetensorsFile::open(checkpoint);
  for (const auto& entry : file.tensors()) {
    std::string tensor(entry.end - entry.begin, '\0');
    file.read(entry, tensor.data());
    bytes += entry.name + tensor;
  }
  return bytes;
}

}  // namespace debias
