// Names of EXIF and TIFF tags.
#pragma once

#include <string>

#include "debias/image/exif_block.h"

namespace debias {

// "ISOSpeedRatings", "GPS latitude"; "tag 0xabcd" for others.
std::string exif_tag_name(ExifPart part, uint16_t tag);

}  // namespace debias
