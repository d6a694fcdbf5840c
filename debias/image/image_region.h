// Part of an image, at its own or at a reduced size, for those who need no more of it.
#pragma once

#include <functional>

#include "debias/image/box.h"

namespace debias {

// A box of the image of height x width reduced to ceil(height / denominator) x ceil(width / denominator).
struct ImageRegion {
  Box box;
  int denominator = 1;  // 1, 2, 4 or 8
};

// Part needed of an image of this size: at least a pixel, and all within it.
using RegionChooser = std::function<ImageRegion(int height, int width)>;

inline ImageRegion whole_region(int height, int width) { return {{0, 0, height, width}, 1}; }

// Position of an image's box in the reduced image: each edge at the nearest line between pixels, halves to the right and down.
inline Box reduced(const Box& box, int denominator) {
  const auto line = [denominator](int edge) { return edge / denominator + (edge % denominator * 2 >= denominator ? 1 : 0); };
  if (denominator == 1) return box;
  const int top = line(box.top), left = line(box.left);
  return {top, left, line(box.top + box.height) - top, line(box.left + box.width) - left};
}

}  // namespace debias
