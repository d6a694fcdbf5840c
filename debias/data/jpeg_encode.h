// 8-bit RGB images to JPEG bytes, as Pillow's save(quality=...) encodes them: 4:2:0 and the accurate transform.
#pragma once

#include <cstdint>
#include <vector>

#include "debias/image/image.h"

namespace debias {

// `quality` 1 to 100. A resource error where the encoder fails.
std::vector<uint8_t> encode_jpeg(const Image& image, int quality);

}  // namespace debias
