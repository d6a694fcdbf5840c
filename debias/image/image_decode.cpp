#include "debias/image/image_decode.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <fstream>

#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/stand_in.h"
#include "debias/image/decoders.h"
#include "debias/image/dicom.h"
#include "debias/image/exif.h"

namespace debias {
namespace {

std::string first_bytes(std::span<const uint8_t> bytes) {
  std::string text;
  for (uint8_t byte : bytes.first(std::min<size_t>(bytes.size(), 4))) text += fmt::format("{}{:02x}", text.empty() ? "" : " ", byte);
  return text;
}

FileError no_format(std::span<const uint8_t> bytes, const std::string& path) {
  if (bytes.empty()) return {path, "is empty"};
  const std::string_view unread = unread_image_format(bytes);
  if (!unread.empty()) return {path, fmt::format("is an image in the unsupported format {}; supported are {}", unread, kReadFormats)};
  const ForeignFile other = stand_in({reinterpret_cast<const char*>(bytes.data()), std::min<size_t>(bytes.size(), 256)});
  if (!other.what.empty()) return {path, fmt::format("is {}, not an image; {}", other.what, other.advice)};
  return {path, fmt::format("is not an image of a supported format ({}): it begins with {}", kReadFormats, first_bytes(bytes))};
}

PartialImage decode_stored(std::span<const uint8_t> bytes, const std::string& path, const RegionChooser& choose, DeepSamples& samples,
                           const Ground& ground) {
  const std::optional<ImageFormat> format = image_format(bytes);
  if (!format) throw no_format(bytes, path);
  switch (*format) {
    case ImageFormat::kJpeg:
      return decode_jpeg(bytes, path, choose);
    case ImageFormat::kPng:
      return PartialImage::whole(decode_png(bytes, path, samples, ground));
    case ImageFormat::kWebp:
      return PartialImage::whole(decode_webp(bytes, path, ground));
    case ImageFormat::kTiff:
      return PartialImage::whole(decode_tiff(bytes, path, samples, ground));
    case ImageFormat::kBmp:
      return PartialImage::whole(decode_bmp(bytes, path));
    case ImageFormat::kPnm:
      return PartialImage::whole(decode_pnm(bytes, path, samples));
    case ImageFormat::kDicom:
      return PartialImage::whole(decode_dicom(bytes, path, samples));
  }
  throw no_format(bytes, path);
}

}  // namespace

namespace {

Ground ground_of(Transparency transparency) {
  if (transparency == Transparency::kDrop) return std::nullopt;
  return transparency == Transparency::kWhite ? 255 : 0;
}

}  // namespace

uint8_t SampleScale::byte_of(uint16_t value) const {
  if (!window) return static_cast<uint8_t>(std::min(value >> (bits - 8), 255));
  const double share = (value - window->first) / (window->second - window->first);
  return static_cast<uint8_t>(std::lround(std::clamp(share, 0.0, 1.0) * 255));
}

PartialImage decode_region(std::span<const uint8_t> bytes, const std::string& path, const RegionChooser& choose,
                           const ImageReading& reading) {
  DeepSamples samples(reading.scale);
  const Orientation orientation = reading.exif == ExifOrientation::kApplied ? exif_orientation(bytes) : Orientation{};
  const Ground ground = ground_of(reading.transparency);
  if (orientation.upright()) return decode_stored(bytes, path, choose, samples, ground);
  return turned(decode_stored(bytes, path, of_stored(choose, orientation), samples, ground), orientation);
}

PartialImage read_region(const std::string& path, const RegionChooser& choose, const ImageReading& reading) {
  return decode_region(read_file_bytes(path), path, choose, reading);
}

Image decode_image(std::span<const uint8_t> bytes, const std::string& path, const ImageReading& reading) {
  return decode_region(bytes, path, whole_region, reading).image;
}

Image read_image(const std::string& path, const ImageReading& reading) { return read_region(path, whole_region, reading).image; }

int largest_deep_sample(const std::string& path) {
  DeepSamples samples(SampleScale{.bits = 8});
  decode_stored(read_file_bytes(path), path, whole_region, samples, std::nullopt);
  return samples.largest();
}

namespace {

ImageLook look_at_png(std::span<const uint8_t> start, std::ifstream& file) {
  constexpr size_t kDepth = 24, kKind = 25, kFirstChunk = 33, kMostChunks = 64;
  if (start.size() <= kKind) return {};
  ImageLook look{.deep = start[kDepth] == 16, .clear = (start[kKind] & 4) != 0};
  size_t at = kFirstChunk;
  for (size_t chunk = 0; chunk < kMostChunks; ++chunk) {
    std::array<uint8_t, 8> head{};
    if (at + head.size() <= start.size()) {
      std::copy_n(start.begin() + static_cast<ptrdiff_t>(at), head.size(), head.begin());
    } else {
      file.clear();
      file.seekg(static_cast<std::streamoff>(at));
      if (!file.read(reinterpret_cast<char*>(head.data()), head.size())) break;
    }
    if (begins_with(std::span(head).subspan(4), "IDAT")) break;
    look.clear = look.clear || begins_with(std::span(head).subspan(4), "tRNS");
    look.more = look.more || begins_with(std::span(head).subspan(4), "acTL");
    at += big_endian(head, 0, 4) + 12;
  }
  return look;
}

ImageLook look_at_webp(std::span<const uint8_t> start) {
  const auto flag = [&](size_t at, uint8_t bit) { return at < start.size() && (start[at] & bit) != 0; };
  const std::span<const uint8_t> kind = part_of(start, 12, 4);
  const bool extended = begins_with(kind, "VP8X");
  return {.clear = extended ? flag(20, 0x10) : begins_with(kind, "VP8L") && flag(24, 0x10), .more = extended && flag(20, 0x02)};
}

}  // namespace

ImageLook look_at_image(const std::string& path) {
  std::array<uint8_t, 512> start;
  std::ifstream file;
  file.rdbuf()->pubsetbuf(nullptr, 0);  // no more than the start
  file.open(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(start.data()), start.size());
  const std::span<const uint8_t> bytes(start.data(), static_cast<size_t>(file.gcount()));
  switch (image_format(bytes).value_or(ImageFormat::kJpeg)) {
    case ImageFormat::kPng:
      return look_at_png(bytes, file);
    case ImageFormat::kWebp:
      return look_at_webp(bytes);
    case ImageFormat::kTiff:
      return look_at_tiff(path);
    case ImageFormat::kDicom:
      return look_at_dicom(path);
    case ImageFormat::kPnm:
      return look_at_pnm(bytes);
    default:
      return {};
  }
}

namespace {

using namespace std::string_view_literals;

struct Signature {
  size_t at;
  std::string_view bytes;
};

template <class Format>
struct Known {
  Signature signature;
  Format format;
};

constexpr std::array kRead = {
    Known<ImageFormat>{{0, "\xff\xd8\xff"sv}, ImageFormat::kJpeg}, Known<ImageFormat>{{0, "\x89PNG\r\n\x1a\n"sv}, ImageFormat::kPng},
    Known<ImageFormat>{{8, "WEBP"sv}, ImageFormat::kWebp},         Known<ImageFormat>{{0, "II*\0"sv}, ImageFormat::kTiff},
    Known<ImageFormat>{{0, "MM\0*"sv}, ImageFormat::kTiff},        Known<ImageFormat>{{0, "II+\0"sv}, ImageFormat::kTiff},  // BigTIFF
    Known<ImageFormat>{{0, "MM\0+"sv}, ImageFormat::kTiff},        Known<ImageFormat>{{0, "BM"sv}, ImageFormat::kBmp},
};

constexpr std::array kUnread = {
    Known<std::string_view>{{0, "GIF8"sv}, "GIF"},
    Known<std::string_view>{{4, "ftyphei"sv}, "HEIC"},
    Known<std::string_view>{{4, "ftyphev"sv}, "HEIC"},
    Known<std::string_view>{{4, "ftypmif1"sv}, "HEIC"},
    Known<std::string_view>{{4, "ftypavi"sv}, "AVIF"},
    Known<std::string_view>{{4, "jP  \r\n"sv}, "JPEG 2000"},
    Known<std::string_view>{{0, "\xff\x4f\xff\x51"sv}, "JPEG 2000"},
    Known<std::string_view>{{4, "JXL \r\n"sv}, "JPEG XL"},
    Known<std::string_view>{{0, "\xff\x0a"sv}, "JPEG XL"},
    Known<std::string_view>{{0, "8BPS"sv}, "Photoshop"},
    Known<std::string_view>{{0, "<svg"sv}, "SVG"},
    Known<std::string_view>{{0, "v/1\x01"sv}, "OpenEXR"},
    Known<std::string_view>{{0, "#?RADIANCE"sv}, "Radiance"},
    Known<std::string_view>{{0, "P7\n"sv}, "PAM"},
    Known<std::string_view>{{0, "Pf\n"sv}, "PFM"},
    Known<std::string_view>{{0, "PF\n"sv}, "PFM"},
};

constexpr std::array kReadEndings = {".jpg"sv,  ".jpeg"sv, ".jpe"sv, ".jfif"sv, ".png"sv, ".webp"sv, ".tif"sv,
                                     ".tiff"sv, ".bmp"sv,  ".ppm"sv, ".pgm"sv,  ".pbm"sv, ".pnm"sv};
constexpr std::array kUnreadEndings = {
    ".gif"sv, ".apng"sv, ".heic"sv, ".heif"sv, ".avif"sv, ".jp2"sv, ".j2k"sv, ".jpf"sv, ".jpx"sv, ".jxl"sv, ".jxr"sv, ".svg"sv,
    ".psd"sv, ".xcf"sv,  ".ico"sv,  ".tga"sv,  ".pcx"sv,  ".dds"sv, ".exr"sv, ".hdr"sv, ".pam"sv, ".pfm"sv, ".dib"sv, ".raw"sv,
    ".dng"sv, ".cr2"sv,  ".cr3"sv,  ".nef"sv,  ".arw"sv,  ".orf"sv, ".rw2"sv, ".raf"sv, ".pef"sv, ".srw"sv,
};

bool has(std::span<const uint8_t> bytes, const Signature& signature) {
  if (bytes.size() < signature.at + signature.bytes.size()) return false;
  return std::equal(signature.bytes.begin(), signature.bytes.end(), bytes.begin() + static_cast<ptrdiff_t>(signature.at),
                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

template <class Endings>
bool has_ending_of(const Endings& endings, const std::string& file_name) {
  return std::find(endings.begin(), endings.end(), ending_of(file_name)) != endings.end();
}

}  // namespace

std::optional<ImageFormat> image_format(std::span<const uint8_t> bytes) {
  for (const auto& [signature, format] : kRead) {
    if (has(bytes, signature) && (format != ImageFormat::kWebp || has(bytes, {0, "RIFF"}))) return format;
  }
  if (is_dicom(bytes)) return ImageFormat::kDicom;
  const bool netpbm = bytes.size() >= 3 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6' && std::isspace(bytes[2]) != 0;
  return netpbm ? std::optional(ImageFormat::kPnm) : std::nullopt;
}

std::string_view unread_image_format(std::span<const uint8_t> bytes) {
  for (const auto& [signature, format] : kUnread) {
    if (has(bytes, signature)) return format;
  }
  return "";
}

std::string ending_of(const std::string& file_name) {
  const size_t dot = file_name.rfind('.');
  if (dot == std::string::npos) return "";
  std::string ending = file_name.substr(dot);
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending;
}

bool has_image_extension(const std::string& file_name) {
  return has_ending_of(kReadEndings, file_name) || (reads_dicom() && has_dicom_extension(file_name));
}

bool has_unread_image_extension(const std::string& file_name) {
  return has_ending_of(kUnreadEndings, file_name) || (!reads_dicom() && has_dicom_extension(file_name));
}

}  // namespace debias
