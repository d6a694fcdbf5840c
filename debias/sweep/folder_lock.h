// A lock on a folder that lasts as long as the object, or the process.
#pragma once

#include <string>
#include <utility>

#include "debias/core/input_file.h"

namespace debias {

class FolderLock {
 public:
  // Creates and locks the file NAME in the folder. Waits while another process has it.
  static FolderLock wait(const std::string& folder, const std::string& name);
  // The same without waiting: a usage error that ends with `otherwise`.
  static FolderLock take(const std::string& folder, const std::string& name, const std::string& otherwise);

 private:
  explicit FolderLock(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

}  // namespace debias
