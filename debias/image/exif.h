// EXIF data of an image file: the camera's orientation and name.
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

}  // namespace debias
