#include "debias/audit/file_facts.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <regex>

#include "debias/image/exif.h"
#include "debias/image/file_encoding.h"
#include "debias/image/image_decode.h"

namespace debias {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string format_name(std::span<const uint8_t> bytes) {
  constexpr std::array<std::string_view, 7> kNames = {"JPEG", "PNG", "WebP", "TIFF", "BMP", "PNM", "DICOM"};
  const auto format = image_format(bytes);
  return format ? std::string(kNames[static_cast<size_t>(*format)]) : "";
}

std::string orientation_name(const Orientation& orientation) {
  if (orientation.upright()) return "upright";
  return fmt::format("{}{}{}", orientation.transposed ? "transposed " : "", orientation.rows_flipped ? "rows flipped " : "",
                     orientation.columns_flipped ? "columns flipped" : "");
}

std::string prefix_of(const std::string& stem) {
  size_t end = 0;
  while (end < stem.size() && !is_digit(stem[end])) ++end;
  return stem.substr(0, end);
}

std::string suffix_of(const std::string& stem) {
  size_t begin = stem.size();
  while (begin > 0 && !is_digit(stem[begin - 1])) --begin;
  return begin == 0 ? "" : stem.substr(begin);
}

std::string pattern_of(const std::string& stem) {
  std::string pattern;
  for (const char c : stem) {
    if (!is_digit(c)) pattern += c;
    if (is_digit(c) && !pattern.ends_with('#')) pattern += '#';
  }
  return pattern;
}

// Year and month of the first date in the name: a run of eight digits, or of fourteen with the time, or 2026-05-14, 2026_05_14, 2026.05.14.
std::string month_of(const std::string& stem) {
  static const std::regex kDate(
      "(?:^|[^0-9])((?:19|20)[0-9]{2})([-_.]?)(0[1-9]|1[0-2])\\2(?:0[1-9]|[12][0-9]|3[01])(?:[0-9]{6})?(?:[^0-9]|$)");
  std::smatch found;
  return std::regex_search(stem, found, kDate) ? found.str(1) + "-" + found.str(3) : "";
}

// Of "2026:05:14 10:00:00", as if in UTC.
std::optional<int64_t> seconds_of(const std::string& time) {
  std::tm parts{};
  if (std::sscanf(time.c_str(), "%d:%d:%d %d:%d:%d", &parts.tm_year, &parts.tm_mon, &parts.tm_mday, &parts.tm_hour, &parts.tm_min,
                  &parts.tm_sec) != 6) {
    return std::nullopt;
  }
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return timegm(&parts);
}

}  // namespace

std::string_view name_of(FileFact fact) {
  constexpr std::array<std::string_view, kFileFacts> kNames = {"file format",       "file encoding",  "image size",   "pixel density",
                                                               "JPEG quantisation", "colour profile", "file comment", "EXIF camera",
                                                               "EXIF orientation",  "EXIF software",  "EXIF month",   "sub-folder",
                                                               "name prefix",       "name suffix",    "name pattern", "name month"};
  return kNames[static_cast<size_t>(fact)];
}

bool is_of_name(FileFact fact) {
  return fact == FileFact::kNamePrefix || fact == FileFact::kNameSuffix || fact == FileFact::kNamePattern || fact == FileFact::kNameMonth;
}

std::string_view name_of(FileMeasure measure) {
  constexpr std::array<std::string_view, kFileMeasures> kNames = {"aspect ratio", "number of pixels", "bytes per pixel"};
  return kNames[static_cast<size_t>(measure)];
}

FileFacts file_facts(const ImageFileBytes& file) {
  const std::filesystem::path path(file.path);
  const std::string stem = path.stem().string();
  const double pixels = static_cast<double>(file.height) * file.width;
  FileFacts facts;
  facts.facts = {format_name(file.bytes),
                 file_encoding(file.bytes),
                 fmt::format("{}x{}", file.width, file.height),
                 file_density(file.bytes),
                 jpeg_quantisation(file.bytes),
                 colour_profile(file.bytes),
                 file_comment(file.bytes),
                 exif_camera(file.bytes),
                 orientation_name(exif_orientation(file.bytes)),
                 exif_software(file.bytes),
                 exif_month(file.bytes),
                 path.parent_path().string(),
                 prefix_of(stem),
                 suffix_of(stem),
                 pattern_of(stem),
                 month_of(stem)};
  facts.measures = {static_cast<double>(file.width) / file.height, pixels, static_cast<double>(file.bytes.size()) / pixels};
  facts.time = seconds_of(exif_time(file.bytes));
  return facts;
}

}  // namespace debias
