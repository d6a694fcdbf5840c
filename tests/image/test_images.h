// Images for tests of view steps.
#pragma once

#include <cstddef>

#include "debias/core/philox.h"
#include "debias/image/image.h"

namespace debias {

inline Image noise_image(int height, int width, int channels, uint64_t seed = 3) {
  Image image{height, width, channels, std::vector<uint8_t>(static_cast<size_t>(height) * width * channels)};
  Random random({.domain = RngDomain::kTest, .seed = seed});
  for (uint8_t& pixel : image.pixels) pixel = static_cast<uint8_t>(random.bits());
  return image;
}

inline bool operator==(const Image& a, const Image& b) {
  return a.height == b.height && a.width == b.width && a.channels == b.channels && a.pixels == b.pixels;
}

// Of a part.
inline std::vector<uint8_t> cropped(const Image& image, const Box& box) {
  std::vector<uint8_t> pixels;
  for (int y = box.top; y < box.top + box.height; ++y) {
    const uint8_t* row = image.row(y) + static_cast<ptrdiff_t>(box.left) * image.channels;
    pixels.insert(pixels.end(), row, row + static_cast<ptrdiff_t>(box.width) * image.channels);
  }
  return pixels;
}

inline RngKey sample_key(uint64_t sample) { return {.domain = RngDomain::kViews, .seed = 1, .sample = sample}; }

}  // namespace debias
