#include "debias/text/characters.h"

#include <algorithm>

#include "debias/core/error.h"
#include "debias/core/printable.h"

namespace debias {
namespace {

// Bytes 0x80 to 0x9f of Windows-1252; the five that it leaves open are kept as they are.
constexpr std::array<char32_t, 32> kWindows1252 = {0x20ac, 0x81,   0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
                                                   0x2039, 0x0152, 0x8d,   0x017d, 0x8f,   0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
                                                   0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d,   0x017e, 0x0178};
constexpr char32_t kReplacement = 0xfffd;

std::u32string of_latin1(std::string_view bytes) {
  std::u32string text;
  text.reserve(bytes.size());
  for (const char byte : bytes) {
    const auto code = static_cast<unsigned char>(byte);
    text += code >= 0x80 && code < 0xa0 ? kWindows1252[code - 0x80u] : char32_t{code};
  }
  return text;
}

bool between(char32_t character, char32_t low, char32_t high) { return character >= low && character <= high; }

}  // namespace

std::u32string characters(std::string_view bytes, Encoding encoding) {
  if (encoding == Encoding::kLatin1) return of_latin1(bytes);
  std::u32string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const auto lead = static_cast<unsigned char>(bytes[0]);
    const Utf8Character next = lead < 0x80 ? Utf8Character{lead, 1} : first_utf8_character(bytes);
    text += next.size == 0 ? kReplacement : char32_t{next.code};
    bytes.remove_prefix(std::max<size_t>(next.size, 1));
  }
  return text;
}

std::string utf8(std::u32string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  const auto tail = [&bytes](char32_t bits) { bytes += static_cast<char>(0x80 | (bits & 0x3f)); };
  for (const char32_t c : text) {
    if (c < 0x80) {
      bytes += static_cast<char>(c);
    } else if (c < 0x800) {
      bytes += static_cast<char>(0xc0 | c >> 6);
      tail(c);
    } else if (c < 0x10000) {
      bytes += static_cast<char>(0xe0 | c >> 12);
      tail(c >> 6);
      tail(c);
    } else {
      bytes += static_cast<char>(0xf0 | c >> 18);
      tail(c >> 12);
      tail(c >> 6);
      tail(c);
    }
  }
  return bytes;
}

bool is_space(char32_t c) {
  if (c < 0x80) return between(c, 9, 13) || between(c, 28, 32);
  return c == 0x85 || c == 0xa0 || c == 0x1680 || between(c, 0x2000, 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

bool is_word(char32_t c) {
  if (c < 0x80) return between(c, 'a', 'z') || between(c, 'A', 'Z') || between(c, '0', '9') || c == '_';
  if (c < 0xc0) return c == 0xaa || c == 0xb2 || c == 0xb3 || c == 0xb5 || c == 0xb9 || c == 0xba || between(c, 0xbc, 0xbe);
  if (c < 0x250) return c != 0xd7 && c != 0xf7;
  return !between(c, 0x2000, 0x2bff) && !between(c, 0x3000, 0x3004) && !between(c, 0x3008, 0x3020) && !between(c, 0xfe00, 0xfe6f) &&
         c != kReplacement && c != 0xfeff;
}

bool is_upper(char32_t c) {
  return between(c, 'A', 'Z') || (between(c, 0xc0, 0xde) && c != 0xd7) || (between(c, 0x391, 0x3a9) && c != 0x3a2) ||
         between(c, 0x400, 0x42f) || c == 0x152 || c == 0x160 || c == 0x178 || c == 0x17d;
}

char32_t lower(char32_t c) {
  if (!is_upper(c)) return c;
  if (between(c, 0x400, 0x40f)) return c + 80;
  if (c == 0x178) return 0xff;
  return c == 0x152 || c == 0x160 || c == 0x17d ? c + 1 : c + 32;
}

std::string lower_case(std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (!plain) {
    std::u32string wide = characters(text);
    std::transform(wide.begin(), wide.end(), wide.begin(), lower);
    return utf8(wide);
  }
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return result;
}

namespace {

constexpr size_t kBlockBytes = 1 << 16;
constexpr std::string_view kMark = "\xef\xbb\xbf";

}  // namespace

TextLines::TextLines(const std::string& path, Encoding encoding) : file_(path), encoding_(encoding) {
  if (file_.size() == 0) throw FileError(path, "the file is empty; expected text");
  fill();
  if (block_.starts_with(kMark)) begin_ = kMark.size();
}

void TextLines::refuse(const std::string& reason) const { throw FileError(path(), fmt::format("line {}: {}", number_, reason)); }

bool TextLines::fill() {
  const size_t bytes = std::min<uint64_t>(kBlockBytes, file_.size() - offset_);
  if (bytes == 0) return false;
  block_.erase(0, begin_);
  begin_ = 0;
  const size_t kept = block_.size();
  block_.resize(kept + bytes);
  file_.read(offset_, block_.data() + kept, bytes);
  offset_ += bytes;
  return true;
}

bool TextLines::next(std::string_view& line) {
  size_t end = block_.find('\n', begin_);
  while (end == std::string::npos && block_.size() - begin_ <= kLongestLine) {
    const size_t known = block_.size() - begin_;
    if (!fill()) break;
    end = block_.find('\n', begin_ + known);
  }
  const bool is_last = end == std::string::npos;
  if (is_last && begin_ == block_.size()) return false;
  ++number_;
  const size_t size = (is_last ? block_.size() : end) - begin_;
  if (size > kLongestLine) refuse(fmt::format("more than {} bytes without a line end; is this text?", kLongestLine));
  line = std::string_view(block_).substr(begin_, size);
  begin_ += size + (is_last ? 0 : 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  line = checked(line);
  return true;
}

std::string_view TextLines::checked(std::string_view line) {
  if (line.find('\0') != std::string_view::npos) refuse("a NUL byte; this is not a text file");
  if (encoding_ == Encoding::kLatin1) {
    if (std::all_of(line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return line;
    converted_ = utf8(characters(line, encoding_));
    return converted_;
  }
  if (const size_t good = utf8_length(line); good < line.size()) {
    refuse(fmt::format("byte {} (0x{:02x}) is not UTF-8; convert the file, or where its reader has an encoding, choose latin1", good + 1,
                       static_cast<unsigned char>(line[good])));
  }
  return line;
}

}  // namespace debias
