// How a JPEG file is built, and what its application segments hold.
#pragma once

#include <optional>

#include "debias/image/file_trace.h"

namespace debias {

// The first bytes of each application segment ("JPEG APP14 Adobe"), the restart interval and the comment; at last the order of the segments
// before the first scan. Of Huffman tables the order says whether they are those of the standard, not their size, which content affects.
void add_jpeg_traces(std::span<const uint8_t> file, FileTraces& traces);

// Where the bytes after the end marker begin; the file's size if nothing follows, and none if there is no end marker.
std::optional<size_t> jpeg_end(std::span<const uint8_t> file);

}  // namespace debias
