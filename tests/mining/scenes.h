// Images with detail at several sizes, and what copying makes of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "debias/core/philox.h"
#include "debias/data/jpeg_encode.h"
#include "debias/image/geometry.h"
#include "debias/image/image_decode.h"

namespace debias {

// Detail at several sizes, as photographs have: sums of blurred noise.
inline Image scene(uint64_t seed, int side = 96) {
  Random draw({.seed = seed});
  std::vector<double> sum(static_cast<size_t>(side) * static_cast<size_t>(side) * 3, 0);
  for (const int cells : {4, 9, 20}) {
    Image noise{cells, cells, 3, std::vector<uint8_t>(static_cast<size_t>(cells) * static_cast<size_t>(cells) * 3)};
    for (uint8_t& value : noise.pixels) value = static_cast<uint8_t>(draw.below(256));
    const Image large = resized(noise, side, side);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += large.pixels[i] / 3.0;
  }
  Image image{side, side, 3, std::vector<uint8_t>(sum.size())};
  for (size_t i = 0; i < sum.size(); ++i) image.pixels[i] = static_cast<uint8_t>(sum[i]);
  return image;
}

inline Image compressed(const Image& image, int quality) { return decode_image(encode_jpeg(image, quality), "memory"); }
inline Image cropped(const Image& image, double share, int corner) {
  const int side = static_cast<int>(image.height * share), rest = image.height - side;
  return resized_crop(image, {corner / 2 * rest, corner % 2 * rest, side, side}, side, side);
}
inline Image flipped(Image image) {
  mirror_horizontally(image);
  return image;
}
inline Image brighter(Image image) {
  for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(std::min(255, value + 10));
  return image;
}

}  // namespace debias
