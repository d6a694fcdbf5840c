// All that an image file holds beside its pixels, as values with names.
#pragma once

#include "debias/image/file_trace.h"

namespace debias {

// Tags of EXIF and TIFF, texts and chunks of PNG, segments of JPEG, chunks of WebP, headers of BMP and PNM, properties of XMP and IPTC,
// bytes after the end of the image, and the order of the parts. Empty for other formats. Of a damaged file what can be read; never throws
// for its content.
FileTraces file_traces(std::span<const uint8_t> file);

}  // namespace debias
