// The JPEG part of image_decode.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "debias/image/partial_image.h"

namespace debias {

// The region that `choose` gives, pixel for pixel as in the whole image; reduced ones by libjpeg's scaled inverse DCT. Files of several
// scans (progressive ones) are decoded whole, at the denominator that was requested. A file without its end is rejected whatever is needed
// of it; other damage is ignored below the region, and where it costs no more than pixels beside it.
PartialImage decode_jpeg(std::span<const uint8_t> bytes, const std::string& path, const RegionChooser& choose);

}  // namespace debias
