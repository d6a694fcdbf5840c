// What the fuzz targets share: bytes under a path that never reach a disk, and the law that bad bytes are refused in one way alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "debias/core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace debias::fuzz {

using Bytes = std::span<const uint8_t>;

// A file in memory. Its path names this process's descriptor, so that it is good in this process alone.
class MemoryFile {
 public:
  MemoryFile();
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  const std::string& path() const { return path_; }
  void hold(Bytes bytes);  // in place of what it held

 private:
  int descriptor_ = -1;
  std::string path_;
};

// A temporary folder whose files, of the given names (which may lie in folders), are all in memory.
class MemoryFolder {
 public:
  explicit MemoryFolder(const std::vector<std::string>& names);
  ~MemoryFolder();
  MemoryFolder(const MemoryFolder&) = delete;
  MemoryFolder& operator=(const MemoryFolder&) = delete;

  const std::string& path() const { return path_; }
  void hold(size_t file, Bytes bytes);  // of the file that is `file`th of the names

 private:
  std::string path_;
  std::vector<MemoryFile> files_;
};

// The first `count` bytes of `rest` (fewer at its end), which it loses.
Bytes take(Bytes& rest, size_t count);
uint32_t take_number(Bytes& rest, size_t bytes);  // little endian; bytes that are missing are 0

// `size` bytes: `pattern` again and again; zeros where it is empty. Large files of fixed records from small inputs.
std::vector<uint8_t> repeated(Bytes pattern, size_t size);

// Ends the process, as a sanitizer does, unless `condition` holds.
void require(bool condition, const char* law);

// Runs `read`. It may throw an Error of kind `kind`: that is how bad input is refused. What is said of data is one line of text.
void refused_only_as(ErrorKind kind, const std::function<void()>& read);

}  // namespace debias::fuzz
