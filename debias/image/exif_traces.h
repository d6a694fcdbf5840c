// The values of all tags of an EXIF block, or of a TIFF file.
#pragma once

#include "debias/image/exif_block.h"
#include "debias/image/file_trace.h"

namespace debias {

// Named PREFIX and the tag's name. Numbers are decimal, several of a tag separated by blanks; positions are degrees, negative in the south
// and west; dates as in add_text_trace; other bytes as they are. Tags that follow from the pixels are left out: sizes, offsets and colour
// maps. The last trace is the order of the tags.
void add_exif_traces(const std::string& prefix, const ExifBlock& block, FileTraces& traces);

}  // namespace debias
