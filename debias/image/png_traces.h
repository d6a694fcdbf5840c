// How a PNG file is built, and what its chunks hold beside the pixels.
#pragma once

#include <optional>

#include "debias/image/file_trace.h"

namespace debias {

// Texts by their key ("PNG text Source"), the first bytes of other ancillary chunks ("PNG gAMA"), the header of the compressed data, and the
// size of the first IDAT chunk where there are several; at last the order of the chunks.
void add_png_traces(std::span<const uint8_t> file, FileTraces& traces);

// Where the bytes after the last chunk begin.
std::optional<size_t> png_end(std::span<const uint8_t> file);

}  // namespace debias
