// JPEG and PNG files to 8-bit RGB, as Pillow's Image.open(...).convert("RGB") gives them.
//
// Grey is replicated, palettes are looked up, alpha and tRNS are dropped (not blended), 16-bit samples keep their high byte (grey ones,
// too, where Pillow takes the number and clips it at 255), CMYK and YCCK JPEGs are read as Adobe's (inverted) and converted as Pillow does.
// JPEG decoding uses the accurate inverse DCT and smooth chroma upsampling. Colour profiles, gamma and EXIF orientation are ignored. The
// format is told from the first bytes, never from the name.
//
// Hostile input is refused with a FileError naming file and reason: empty, truncated or corrupt data, other formats, and more than
// kLargestImage pixels, before memory is set aside for them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "debias/core/image.h"
#include "debias/data/partial_image.h"

namespace debias {

constexpr int64_t kLargestImage = 178'956'970;  // pixels; Pillow's MAX_IMAGE_PIXELS

// `path` is only for messages.
Image decode_image(std::span<const uint8_t> bytes, const std::string& path);
Image read_image(const std::string& path);

// At least what `choose` asks for. Of JPEG files that much is decoded (jpeg_decode.h), of others all, and `choose` is not called.
PartialImage decode_region(std::span<const uint8_t> bytes, const std::string& path, const RegionChooser& choose);
PartialImage read_region(const std::string& path, const RegionChooser& choose);

bool has_image_extension(const std::string& file_name);  // .jpg .jpeg .png in any case

}  // namespace debias
