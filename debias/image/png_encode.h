// Images to PNG bytes (8-bit grey or RGB).
#pragma once

#include <cstdint>
#include <vector>

#include "debias/image/image.h"

namespace debias {

// 1 or 3 channels; a usage error for an image without pixels or with other channels.
std::vector<uint8_t> encode_png(const Image& image);

}  // namespace debias
