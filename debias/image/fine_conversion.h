// A step that gives every pixel other coordinates: as bytes, and before rounding.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "debias/core/error.h"
#include "debias/image/view_frame.h"

namespace debias {

// values_of(const uint8_t rgb[3]) gives three numbers on the scale of bytes. A usage error naming `step` for images of one channel.
template <class Values>
void convert_colours(ViewFrame& frame, const char* step, const Values& values_of) {
  if (frame.channels() != 3) throw usage_error("{}: needs an image of 3 channels, found {}", step, frame.channels());
  const size_t count = static_cast<size_t>(frame.height()) * frame.width();
  uint8_t* const planes[3] = {frame.plane(0), frame.plane(1), frame.plane(2)};
  float* fine = frame.give_fine_values();
  for (size_t i = 0; i < count; ++i) {
    const uint8_t rgb[3] = {planes[0][i], planes[1][i], planes[2][i]};
    const std::array<double, 3> values = values_of(rgb);
    for (size_t c = 0; c < 3; ++c) {
      planes[c][i] = static_cast<uint8_t>(std::clamp(std::lround(values[c]), 0L, 255L));
      fine[c * count + i] = static_cast<float>(values[c]);
    }
  }
}

}  // namespace debias
