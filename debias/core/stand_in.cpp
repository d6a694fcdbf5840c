#include "debias/core/stand_in.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "debias/core/error.h"

namespace debias {

ForeignFile stand_in(std::string_view start) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  constexpr size_t kLooked = 64;
  if (start.starts_with("PK\x03\x04")) return {"a zip archive or an Excel workbook", "unpack it, or save the table as CSV"};
  if (start.starts_with("\x1f\x8b")) return {"a file compressed by gzip", "unpack it: gunzip FILE"};
  if (start.starts_with("%PDF")) return {"a PDF document", "give the file itself"};
  if (start.starts_with(kByteOrderMark)) start.remove_prefix(kByteOrderMark.size());
  start.remove_prefix(std::min(start.find_first_not_of(" \t\r\n"), start.size()));
  std::string text(start.substr(0, kLooked));
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (text.starts_with("version https://git-lfs") || text.starts_with("version https://hawser"))
    return {"a pointer of Git LFS", "git lfs pull fetches the file"};
  constexpr const char* kDownload = "a download failed or asks for a login: download the file itself";
  if (text.starts_with("<!doctype html") || text.starts_with("<html") || text.starts_with("<head")) return {"an HTML page", kDownload};
  if (text.starts_with("<?xml")) return {"an XML document", kDownload};
  if (text.starts_with("{\"")) return {"a JSON text", kDownload, true};
  return {};
}

void refuse_stand_in(const std::string& path, std::string_view start, const char* name) {
  const ForeignFile found = stand_in(start);
  if (!found.what.empty()) throw FileError(path, fmt::format("is {}, not {}; {}", found.what, name, found.advice));
}

}  // namespace debias
