// The pixels of part of an image.
#pragma once

#include <utility>

#include "debias/image/image.h"
#include "debias/image/image_region.h"

namespace debias {

struct PartialImage {
  Image image;  // the pixels of `region`
  ImageRegion region;
  int height = 0, width = 0;  // of the whole, at its own size

  static PartialImage whole(Image image) {
    const int height = image.height, width = image.width;
    return {std::move(image), whole_region(height, width), height, width};
  }
};

}  // namespace debias
