// The IPTC records of an image file: agency, author, place and caption of a photograph.
#pragma once

#include <string_view>

#include "debias/image/file_trace.h"

namespace debias {

constexpr std::string_view kPhotoshopMark("Photoshop 3.0\0", 14);  // before the resources in a JPEG's segment

// Of the resources of Photoshop, one of which holds the records, as "IPTC 80" (the number of the data set, here the author).
void add_iptc_traces(std::span<const uint8_t> resources, FileTraces& traces);

}  // namespace debias
