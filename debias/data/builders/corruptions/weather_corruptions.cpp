#include <algorithm>
#include <array>
#include <cmath>

#include "debias/data/builders/corruptions/corruption_kinds.h"

namespace debias::corruptions {
namespace {

Plane normal_plane(int side, double mean, double deviation, Random& random) {
  Plane plane(side, side);
  for (double& value : plane.values) value = mean + deviation * random.normal();
  return plane;
}

void zero_below(Plane& plane, double threshold) {
  for (double& value : plane.values) value = value < threshold ? 0 : value;
}

}  // namespace

Planes snow(const Planes& image, int level, Random& random) {
  struct Snow {
    double mean, deviation, zoom, threshold, radius, sigma, kept;
  };
  constexpr std::array<Snow, 5> kSnow = {{{0.1, 0.2, 1, 0.6, 8, 3, 0.95},
                                          {0.1, 0.2, 1, 0.5, 10, 4, 0.9},
                                          {0.15, 0.3, 1.75, 0.55, 10, 4, 0.9},
                                          {0.25, 0.3, 2.25, 0.6, 12, 6, 0.85},
                                          {0.3, 0.3, 1.25, 0.65, 14, 12, 0.8}}};
  const Snow& c = kSnow[level];
  const int side = image[0].height;
  Plane flakes = clipped_zoom(normal_plane(side, c.mean, c.deviation, random), c.zoom);
  zero_below(flakes, c.threshold);
  flakes = motion_blurred(truncated_bytes(flakes), c.radius, c.sigma, random.uniform(-135, -45));
  const Plane grey = grey_of(image);
  Planes out = image;
  for (Plane& plane : out) {
    for (size_t i = 0; i < plane.values.size(); ++i) {
      const double whitened = std::max(plane.values[i], 1.5 * grey.values[i] + 0.5);
      const double turned = flakes.values[plane.values.size() - 1 - i];  // by 180 degrees
      plane.values[i] = c.kept * plane.values[i] + (1 - c.kept) * whitened + flakes.values[i] + turned;
    }
  }
  return out;
}

Planes frost(const Planes& image, int level, Random& random, const FrostTextures& textures) {
  constexpr std::array<std::array<double, 2>, 5> kMix = {{{1, 0.2}, {1, 0.3}, {0.9, 0.4}, {0.85, 0.4}, {0.75, 0.45}}};
  const Planes& texture = textures.textures[static_cast<size_t>(random.below(static_cast<int64_t>(textures.textures.size())))];
  const int side = image[0].height;
  const auto top = static_cast<int>(random.below(texture[0].height - side));
  const auto left = static_cast<int>(random.below(texture[0].width - side));
  Planes out = image;
  for (size_t c = 0; c < 3; ++c) {
    for (int y = 0; y < side; ++y) {
      for (int x = 0; x < side; ++x)
        out[c].at(y, x) = kMix[level][0] * image[c].at(y, x) + kMix[level][1] * texture[c].at(top + y, left + x);
    }
  }
  return out;
}

Planes fog(const Planes& image, int level, Random& random) {
  constexpr std::array<std::array<double, 2>, 5> kFog = {{{0.2, 3}, {0.5, 3}, {0.75, 2.5}, {1, 2}, {1.5, 1.75}}};
  const double thickness = kFog[level][0];
  const Plane clouds = plasma(image[0].height, kFog[level][1], random);
  double brightest = 0;
  for (const Plane& plane : image) brightest = std::max(brightest, *std::max_element(plane.values.begin(), plane.values.end()));
  Planes out = image;
  for (Plane& plane : out) {
    for (size_t i = 0; i < plane.values.size(); ++i) {
      plane.values[i] = (plane.values[i] + thickness * clouds.values[i]) * brightest / (brightest + thickness);
    }
  }
  return out;
}

}  // namespace debias::corruptions
