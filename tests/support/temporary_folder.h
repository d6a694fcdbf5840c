// A folder of one test under the system's temporary one, removed at the end.
#pragma once

#include <stdlib.h>

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string>
#include <system_error>

namespace debias {

class TemporaryFolder {
 public:
  TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "debias_test_XXXXXX").string()) {  // mkdtemp fills the last six
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary folder can be made as " + path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  size_t entries() const {
    const std::filesystem::directory_iterator folder(path_);
    return static_cast<size_t>(std::distance(begin(folder), end(folder)));
  }

 private:
  std::string path_;
};

}  // namespace debias
