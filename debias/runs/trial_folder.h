// A temporary folder for the files of trials, removed at the end.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "debias/core/error.h"

namespace debias {

class TrialFolder {
 public:
  TrialFolder() {
    namespace fs = std::filesystem;
    std::string path = (fs::temp_directory_path() / "debias-certify-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr)
      throw resource_error("certify: no folder can be made in '{}'", std::filesystem::temp_directory_path().string());
    path_ = path;
  }
  ~TrialFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace debias
