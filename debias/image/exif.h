// The orientation that a camera noted in an image file.
#pragma once

#include <cstdint>
#include <span>

#include "debias/image/orientation.h"

namespace debias {

// From the EXIF block of a JPEG, PNG or WebP file (first directory, tag 0x0112), without decoding it; upright where the file is of another
// format, has none or a damaged one. XMP is not looked at.
Orientation exif_orientation(std::span<const uint8_t> file);

}  // namespace debias
