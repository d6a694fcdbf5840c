// EXIF data of an image file: the camera's orientation and name, the program, the month.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "debias/image/orientation.h"

namespace debias {

// From the EXIF block of a JPEG, PNG or WebP file (first directory, tag 0x0112), without decoding it; upright where the file is of another
// format, has none or a damaged one. XMP is not looked at.
Orientation exif_orientation(std::span<const uint8_t> file);

// "MAKE MODEL" of the same block (first directory, tags 0x010f and 0x0110), each without blanks around it and of at most 64 bytes; empty
// where neither is there.
std::string exif_camera(std::span<const uint8_t> file);

// The program that wrote the file (tag 0x0131), at most 64 bytes.
std::string exif_software(std::span<const uint8_t> file);

// "2026:05:14 10:00:00": when the photograph was taken (tag 0x9003); empty where it is not there.
std::string exif_time(std::span<const uint8_t> file);

// "2026:05": year and month in which the photograph was taken (tag 0x9003), or the file changed (0x0132) where the former is missing.
std::string exif_month(std::span<const uint8_t> file);

}  // namespace debias
