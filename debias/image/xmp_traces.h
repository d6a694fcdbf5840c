// The properties of an XMP packet.
#pragma once

#include <string_view>

#include "debias/image/file_trace.h"

namespace debias {

constexpr std::string_view kXmpMark("http://ns.adobe.com/xap/1.0/\0", 29);  // before the packet in a JPEG's segment

// Attributes and elements that hold text, as "XMP xmp:CreatorTool"; items of a list under the name of the list, the first of each. At most
// 64 properties, of the first 65,536 bytes. Nested structures are not told apart.
void add_xmp_traces(std::span<const uint8_t> packet, FileTraces& traces);

}  // namespace debias
