// A file of known size, read piece by piece at given offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "debias/core/descriptor.h"

namespace debias {

// Readers check what a header claims against size() before they allocate. Everything that fails (no such file, a folder or a device, no
// permission, a file that was cut after it was opened) is a data error that names the path.
class InputFile {
 public:
  explicit InputFile(std::string path);

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  void read(uint64_t offset, void* out, size_t bytes) const;

 private:
  std::string path_;
  Descriptor file_;
  uint64_t size_ = 0;
};

}  // namespace debias
