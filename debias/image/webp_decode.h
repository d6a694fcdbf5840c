// The WebP part of image_decode.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "debias/image/image.h"

namespace debias {

Image decode_webp(std::span<const uint8_t> bytes, const std::string& path);

}  // namespace debias
