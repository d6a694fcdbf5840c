// Characters of text: to and from UTF-8 and Windows-1252, and what they are to a tokeniser.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "debias/core/enum_names.h"
#include "debias/core/input_file.h"

namespace debias {

enum class Encoding { kUtf8, kLatin1 };
constexpr auto enum_words(Encoding) { return named("utf8", "latin1"); }

// kLatin1 is read as Windows-1252, which has quotation marks and dashes where Latin-1 has control characters; every byte is a character of
// it. Bytes that are not UTF-8 become U+FFFD: who reads files rejects them before (TextLines).
std::u32string characters(std::string_view bytes, Encoding encoding = Encoding::kUtf8);
std::string utf8(std::u32string_view text);

bool is_space(char32_t character);  // as of Python's str.split()
bool is_word(char32_t character);   // a letter, a digit or `_`: \w of Python's re, except for rare signs above U+024F
bool is_upper(char32_t character);  // of ASCII, Latin-1, Greek and Cyrillic
char32_t lower(char32_t character);

std::string lower_case(std::string_view utf8_text);

// A text file read line by line, however large: nothing but a block of it is in memory.
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
