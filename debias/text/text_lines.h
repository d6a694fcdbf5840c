// A text file read line by line, however large: nothing but a block of it is in memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "debias/core/input_file.h"
#include "debias/text/characters.h"

namespace debias {

constexpr size_t kLongestLine = 1 << 20;  // bytes

// Lines without their ends (LF or CR LF) and without a byte order mark, as UTF-8 whatever the encoding of the file. FileErrors with the
// number of the line: a NUL byte, which no text has; bytes that are not of the encoding; a line above kLongestLine. And a file without a
// byte.
class TextLines {
 public:
  explicit TextLines(const std::string& path, Encoding encoding = Encoding::kUtf8);

  // False at the end. The line is valid until the next call.
  bool next(std::string_view& line);
  int64_t number() const { return number_; }  // of the line last given, from 1
  const std::string& path() const { return file_.path(); }

  [[noreturn]] void refuse(const std::string& reason) const;  // FileError "line 3: ..."

 private:
  bool fill();
  std::string_view checked(std::string_view line);

  InputFile file_;
  Encoding encoding_;
  std::string block_, converted_;
  size_t begin_ = 0;     // of what is not given yet, in the block
  uint64_t offset_ = 0;  // of what is not read yet, in the file
  int64_t number_ = 0;
};

}  // namespace debias
