// Properties of a file other than its pixels: size, encoder, camera, date, name.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace debias {

enum class FileFact {
  kFormat,
  kEncoding,
  kSize,
  kDensity,
  kQuantisation,
  kProfile,
  kComment,
  kCamera,
  kOrientation,
  kSoftware,
  kMonth,
  kFolder,
  kNamePrefix,
  kNameSuffix,
  kNamePattern,
  kNameMonth
};
constexpr int kFileFacts = 16;
std::string_view name_of(FileFact fact);
bool is_of_name(FileFact fact);  // of the file's own name

enum class FileMeasure { kAspect, kPixels, kBytesPerPixel };
constexpr int kFileMeasures = 3;
std::string_view name_of(FileMeasure measure);

struct FileFacts {
  std::array<std::string, kFileFacts> facts;  // empty: not in the file
  std::array<double, kFileMeasures> measures{};
  std::optional<int64_t> time;  // EXIF time of the photograph, in seconds

  const std::string& fact(FileFact which) const { return facts[static_cast<size_t>(which)]; }
};

struct ImageFileBytes {
  std::string path;  // below the class's folder
  std::span<const uint8_t> bytes;
  int height = 0, width = 0;
};

// The name gives four facts: the letters before its first digit, those after its last, the whole name with # for every run of digits, and
// the year and month of a date such as 20260514 or 2026-05-14. A name without digits has no suffix.
FileFacts file_facts(const ImageFileBytes& file);

}  // namespace debias
