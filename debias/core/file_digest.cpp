#include "debias/core/file_digest.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "debias/core/input_file.h"
#include "debias/core/sha256.h"

namespace debias {

std::string file_digest(const std::string& path) {
  const InputFile file(path);
  Sha256 digest;
  std::vector<char> piece(size_t{1} << 20);
  for (uint64_t offset = 0; offset < file.size(); offset += piece.size()) {
    const size_t bytes = std::min<uint64_t>(piece.size(), file.size() - offset);
    file.read(offset, piece.data(), bytes);
    digest.update(piece.data(), bytes);
  }
  return digest.hex();
}

}  // namespace debias
