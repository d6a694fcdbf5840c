// Formats of image files: detected by the first bytes when a file is read, by the extension when a folder is listed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace debias {

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
