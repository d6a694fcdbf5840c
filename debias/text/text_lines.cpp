#include "debias/text/text_lines.h"

#include <algorithm>

#include "debias/core/file_error.h"
#include "debias/core/utf8.h"

namespace debias {
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
