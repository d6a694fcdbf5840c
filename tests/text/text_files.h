// Files of a test.
#pragma once

#include <fstream>
#include <string>

namespace debias {

inline void write_file(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

}  // namespace debias
