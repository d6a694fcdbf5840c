#include "debias/evaluate/thumbnail.h"

#include <algorithm>
#include <cmath>

#include "debias/image/geometry.h"

namespace debias {

Image thumbnail(const Image& image, int longest) {
  const int side = std::max(image.height, image.width);
  if (side <= longest) return image;
  const auto shrunk = [&](int length) { return std::max(1, static_cast<int>(std::lround(static_cast<double>(length) * longest / side))); };
  return resized(image, shrunk(image.height), shrunk(image.width));
}

}  // namespace debias
