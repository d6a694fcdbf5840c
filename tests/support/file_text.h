// Bytes into a file, and out of it as text; "" where there is none.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace debias {

inline std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void put_bytes(const std::string& path, const std::string& bytes) {
  std::filesystem::remove(path);  // ext4 flushes files that are overwritten, at milliseconds each
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace debias
