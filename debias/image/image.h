// Pixels as they are read: 8-bit, interleaved (height, width, channels), 1 or 3 channels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace debias {

struct Image {
  int height = 0;
  int width = 0;
  int channels = 3;
  std::vector<uint8_t> pixels;  // height * width * channels

  const uint8_t* row(int y) const { return pixels.data() + static_cast<size_t>(y) * width * channels; }
};

}  // namespace debias
