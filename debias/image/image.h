// Pixels as they are read: 8-bit, interleaved (height, width, channels), 1 or 3 channels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace debias {

struct Image {
  int height = 0;
  int width = 0;
  int channels = 3;
  std::vector<uint8_t> pixels;  // height * width * channels

  const uint8_t* row(int y) const { return pixels.data() + static_cast<size_t>(y) * width * channels; }
};

// The limit on the pixels of an image, asked before memory is reserved for them.
constexpr int64_t kLargestImage = 178'956'970;  // pixels; Pillow's MAX_IMAGE_PIXELS

// FileError unless both are positive and their product is at most kLargestImage.
void require_allowed_size(int64_t height, int64_t width, const std::string& path);

// A rectangle of pixels.
struct Box {
  int top = 0, left = 0, height = 0, width = 0;
};

// Part of an image, at its own or at a reduced size, for those who need no more of it.

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

// The pixels of part of an image.
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
