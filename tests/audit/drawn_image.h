// Images whose pixels are a function of their place.
#pragma once

#include <array>
#include <functional>

#include "debias/image/image.h"

namespace debias {

using Rgb = std::array<uint8_t, 3>;

inline Image drawn_image(int height, int width, const std::function<Rgb(int y, int x)>& colour) {
  Image image{height, width, 3, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const Rgb pixel = colour(y, x);
      image.pixels.insert(image.pixels.end(), pixel.begin(), pixel.end());
    }
  }
  return image;
}

inline Image drawn_grey(int height, int width, const std::function<int(int y, int x)>& value) {
  return drawn_image(height, width, [&](int y, int x) {
    const auto own = static_cast<uint8_t>(value(y, x));
    return Rgb{own, own, own};
  });
}

}  // namespace debias
