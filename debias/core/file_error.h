// A data error with its file, so that a check can list path and reason separately.
#pragma once

#include <string>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/printable.h"

namespace debias {

class FileError : public Error {  // kData; the message is "PATH: REASON", without control characters
 public:
  FileError(std::string path, std::string reason)
      : Error(ErrorKind::kData, without_control_characters(path + ": " + reason)), path_(std::move(path)), reason_(std::move(reason)) {}
  const std::string& path() const { return path_; }
  const std::string& reason() const { return reason_; }

 private:
  std::string path_;
  std::string reason_;
};

}  // namespace debias
