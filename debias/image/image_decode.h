// JPEG, PNG, WebP, TIFF, BMP and PNM (PBM, PGM, PPM) files to 8-bit RGB, as Pillow's Image.open(...).convert("RGB") gives them.
//
// Grey is replicated, palettes are looked up, alpha and tRNS are dropped (not blended), 16-bit samples keep their high byte (those of PNM
// are scaled and rounded; grey ones, too, where Pillow takes the number and clips it at 255), CMYK and YCCK JPEGs are read as Adobe's
// (inverted) and converted as Pillow does. JPEG decoding uses the accurate inverse DCT and smooth chroma upsampling. Files with several
// images give the first. Colour profiles and gamma are ignored. The format is detected by the first bytes, never from the name.
//
// The orientation that a camera notes in EXIF is applied where the caller says so. Neither Pillow nor torchvision's loader applies it by
// themselves, so that with `kIgnored` the pixels are theirs. TIFF's own tag Orientation is always applied, as Pillow does.
//
// Hostile input is rejected with a FileError naming file and reason: empty, truncated or corrupt data, other formats, and more than
// kLargestImage pixels, before memory is reserved for them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "debias/image/image.h"

namespace debias {

enum class ExifOrientation { kIgnored, kApplied };  // of JPEG, PNG and WebP files

// `path` is only for messages.
Image decode_image(std::span<const uint8_t> bytes, const std::string& path, ExifOrientation exif = ExifOrientation::kIgnored);
Image read_image(const std::string& path, ExifOrientation exif = ExifOrientation::kIgnored);

// Decodes at least the part that `choose` requests; sizes and regions are those of the turned image if the orientation is applied. JPEG
// files are decoded that far (decoders.h), others fully, without calling `choose`.
PartialImage decode_region(std::span<const uint8_t> bytes, const std::string& path, const RegionChooser& choose,
                           ExifOrientation exif = ExifOrientation::kIgnored);
PartialImage read_region(const std::string& path, const RegionChooser& choose, ExifOrientation exif = ExifOrientation::kIgnored);

// Formats of image files: detected by the first bytes when a file is read, by the extension when a folder is listed.
enum class ImageFormat { kJpeg, kPng, kWebp, kTiff, kBmp, kPnm };

std::optional<ImageFormat> image_format(std::span<const uint8_t> bytes);

// "GIF", "HEIC" and the like: a format of images that is known but not read. Empty for others.
std::string_view unread_image_format(std::span<const uint8_t> bytes);

constexpr std::string_view kReadFormats = "JPEG, PNG, WebP, TIFF, BMP and PNM";

// In lower case with its dot, or empty.
std::string ending_of(const std::string& file_name);

bool has_image_extension(const std::string& file_name);         // .jpg .jpeg .jpe .jfif .png .webp .tif .tiff .bmp .p[pgbn]m, in any case
bool has_unread_image_extension(const std::string& file_name);  // .gif .heic .avif .svg .psd .dng ..., in any case

}  // namespace debias
