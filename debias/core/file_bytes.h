// A whole file in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace debias {

constexpr int64_t kLargestFile = int64_t{1} << 31;  // bytes

// FileError when it is missing, not a regular file, larger than `limit`, or cannot be read.
std::vector<uint8_t> read_file_bytes(const std::string& path, int64_t limit = kLargestFile);

// Throws a data error "WHAT: root: ..." that names the path and the files looked for, unless `root` is a folder; a usage error when it
// is empty.
void require_root(const std::string& root, const std::string& what, const std::string& looked_for);

}  // namespace debias
