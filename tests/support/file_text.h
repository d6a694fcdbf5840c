// The bytes of a file as text; "" where there is none.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

namespace debias {

inline std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace debias
