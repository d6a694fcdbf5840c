#include "debias/image/image.h"

#include "debias/core/error.h"

namespace debias {

void require_allowed_size(int64_t height, int64_t width, const std::string& path) {
  if (height <= 0 || width <= 0) throw FileError(path, fmt::format("{}x{} pixels: an image without pixels", height, width));
  if (height > kLargestImage / width) {
    throw FileError(path, fmt::format("{}x{} pixels, more than the {} allowed", height, width, kLargestImage));
  }
}

}  // namespace debias
