// The limit on the pixels of an image, asked before memory is reserved for them.
#pragma once

#include <cstdint>
#include <string>

namespace debias {

constexpr int64_t kLargestImage = 178'956'970;  // pixels; Pillow's MAX_IMAGE_PIXELS

// FileError unless both are positive and their product is at most kLargestImage.
void require_allowed_size(int64_t height, int64_t width, const std::string& path);

}  // namespace debias
