#include "debias/data/builders/corruptions/corruption_kinds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "debias/data/jpeg_encode.h"
#include "debias/image/decoders.h"

namespace debias::corruptions {
namespace {

template <class Change>
Planes each_value(Planes image, Change change) {
  for (Plane& plane : image) {
    for (double& value : plane.values) value = change(value);
  }
  return image;
}

// Knuth's product of uniforms; a large mean is a sum of small ones, lest exp(-mean) vanish.
int64_t poisson(double mean, Random& random) {
  constexpr double kPart = 30;
  int64_t count = 0;
  for (; mean > 0; mean -= kPart) {
    const double floor = std::exp(-std::min(mean, kPart));
    for (double product = random.uniform(); product > floor; product *= random.uniform()) ++count;
  }
  return count;
}

}  // namespace

Planes gaussian_noise(const Planes& image, int level, Random& random) {
  constexpr std::array<double, 5> kSigma = {0.04, 0.06, 0.08, 0.09, 0.10};
  return each_value(image, [&](double x) { return x + kSigma[level] * random.normal(); });
}

Planes shot_noise(const Planes& image, int level, Random& random) {
  constexpr std::array<double, 5> kPhotons = {500, 250, 100, 75, 50};
  return each_value(image, [&](double x) { return static_cast<double>(poisson(x * kPhotons[level], random)) / kPhotons[level]; });
}

Planes impulse_noise(const Planes& image, int level, Random& random) {
  constexpr std::array<double, 5> kShare = {0.01, 0.02, 0.03, 0.05, 0.07};
  return each_value(image, [&](double x) {
    if (random.uniform() >= kShare[level]) return x;
    return random.uniform() < 0.5 ? 1.0 : 0.0;
  });
}

Planes speckle_noise(const Planes& image, int level, Random& random) {
  constexpr std::array<double, 5> kSigma = {0.06, 0.1, 0.12, 0.16, 0.2};
  return each_value(image, [&](double x) { return x + x * kSigma[level] * random.normal(); });
}

namespace {

template <class Change>
Planes each_plane(const Planes& image, Change change) {
  return {change(image[0]), change(image[1]), change(image[2])};
}

// A 17x17 disk of weight 1, smoothed by a 3x3 Gaussian.
Plane disk(double radius, double sigma) {
  constexpr int kHalf = 8;
  Plane kernel(2 * kHalf + 1, 2 * kHalf + 1);
  double inside = 0;
  for (int y = -kHalf; y <= kHalf; ++y) {
    for (int x = -kHalf; x <= kHalf; ++x) {
      const double value = x * x + y * y <= radius * radius ? 1 : 0;
      kernel.at(y + kHalf, x + kHalf) = value;
      inside += value;
    }
  }
  for (double& value : kernel.values) value /= inside;
  const double beside = std::exp(-0.5 / (sigma * sigma)), total = 1 + 2 * beside;
  const std::array<double, 3> weights = {beside / total, 1 / total, beside / total};
  Plane smoothing(3, 3);
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 3; ++x) smoothing.at(y, x) = weights[static_cast<size_t>(y)] * weights[static_cast<size_t>(x)];
  }
  return correlated(kernel, smoothing);
}

}  // namespace

Planes gaussian_blur(const Planes& image, int level) {
  constexpr std::array<double, 5> kSigma = {0.4, 0.6, 0.7, 0.8, 1};
  return each_plane(image, [&](const Plane& plane) { return gaussian(plane, kSigma[level]); });
}

Planes glass_blur(const Planes& image, int level, Random& random) {
  struct Glass {
    double sigma;
    int reach, rounds;
  };
  constexpr std::array<Glass, 5> kGlass = {{{0.05, 1, 1}, {0.25, 1, 1}, {0.4, 1, 1}, {0.25, 1, 2}, {0.4, 1, 2}}};
  const auto [sigma, reach, rounds] = kGlass[level];
  const auto blurred = [sigma = sigma](const Plane& plane) { return gaussian(plane, sigma); };
  Planes out = each_plane(each_plane(image, blurred), truncated_bytes);
  const int side = out[0].height;
  for (int round = 0; round < rounds; ++round) {
    for (int y = side - reach; y > reach; --y) {
      for (int x = side - reach; x > reach; --x) {
        const int from_y = y + static_cast<int>(random.below(2 * reach)) - reach,
                  from_x = x + static_cast<int>(random.below(2 * reach)) - reach;
        // The released code means to swap the two, but through views of one array, which copies.
        for (Plane& plane : out) plane.at(y, x) = plane.at(from_y, from_x);
      }
    }
  }
  return each_plane(out, blurred);
}

Planes defocus_blur(const Planes& image, int level) {
  constexpr std::array<std::array<double, 2>, 5> kDisk = {{{0.3, 0.4}, {0.4, 0.5}, {0.5, 0.6}, {1, 0.2}, {1.5, 0.1}}};
  const Plane kernel = disk(kDisk[level][0], kDisk[level][1]);
  return each_plane(image, [&](const Plane& plane) { return correlated(plane, kernel); });
}

Planes motion_blur(const Planes& image, int level, Random& random) {
  constexpr std::array<std::array<double, 2>, 5> kMotion = {{{6, 1}, {6, 1.5}, {6, 2}, {8, 2}, {9, 2.5}}};
  const double angle = random.uniform(-45, 45);
  return each_plane(image, [&](const Plane& plane) { return motion_blurred(plane, kMotion[level][0], kMotion[level][1], angle); });
}

Planes zoom_blur(const Planes& image, int level) {
  // The released code's numpy.arange(1, 1.06, 0.01): rounding makes it and the next, to 1.11, reach their ends, which the other three
  // leave out; and the 25th step is above 1.25, which decides about half a pixel.
  constexpr std::array<int, 5> kLast = {6, 11, 15, 20, 25};
  constexpr double kStep = (1 + 0.01) - 1;
  const int last = kLast[level];
  return each_plane(image, [&](const Plane& plane) {
    Plane sum = plane;
    for (int step = 0; step <= last; ++step) {
      const Plane zoomed = clipped_zoom(plane, 1 + step * kStep);
      for (size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += zoomed.values[i];
    }
    for (double& value : sum.values) value /= last + 2;
    return sum;
  });
}

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

namespace {

constexpr double kSide = 32;

using Point = std::array<double, 2>;

// The map (x, y) -> (a x + b y + c, d x + e y + f) that takes each of three points to its target.
std::array<double, 6> affine_through(const std::array<Point, 3>& from, const std::array<Point, 3>& to) {
  const double ux = from[1][0] - from[0][0], uy = from[1][1] - from[0][1], vx = from[2][0] - from[0][0], vy = from[2][1] - from[0][1];
  const double determinant = ux * vy - vx * uy;
  std::array<double, 6> map{};
  for (size_t k = 0; k < 2; ++k) {
    const double p = to[1][k] - to[0][k], q = to[2][k] - to[0][k];
    const double along_x = (p * vy - q * uy) / determinant, along_y = (q * ux - p * vx) / determinant;
    map[3 * k] = along_x;
    map[3 * k + 1] = along_y;
    map[3 * k + 2] = to[0][k] - along_x * from[0][0] - along_y * from[0][1];
  }
  return map;
}

template <class Position>  // Position(y, x) -> {y, x} in the source
Planes sampled(const Planes& image, Border border, Position position) {
  Planes out = image;
  for (int y = 0; y < image[0].height; ++y) {
    for (int x = 0; x < image[0].width; ++x) {
      const auto [from_y, from_x] = position(y, x);
      for (size_t c = 0; c < 3; ++c) out[c].at(y, x) = bilinear(image[c], from_y, from_x, border);
    }
  }
  return out;
}

Planes randomly_tilted(const Planes& image, double reach, Random& random) {
  constexpr double kCentre = 16, kArm = 10;
  const std::array<Point, 3> corners = {
      {{kCentre + kArm, kCentre + kArm}, {kCentre + kArm, kCentre - kArm}, {kCentre - kArm, kCentre - kArm}}};
  std::array<Point, 3> moved = corners;
  for (Point& point : moved) {
    for (double& coordinate : point) coordinate += random.uniform(-reach, reach);
  }
  const std::array<double, 6> back = affine_through(moved, corners);
  return sampled(image, Border::kReflect101, [&](int y, int x) {
    return std::pair{back[3] * x + back[4] * y + back[5], back[0] * x + back[1] * y + back[2]};
  });
}

Plane displacement(const Planes& image, double sigma, double strength, Random& random) {
  Plane plane(image[0].height, image[0].width);
  for (double& value : plane.values) value = random.uniform(-1, 1);
  plane = gaussian(plane, sigma, Border::kReflect, 3);
  for (double& value : plane.values) value *= strength;
  return plane;
}

}  // namespace

Planes brightness(const Planes& image, int level) {
  constexpr std::array<double, 5> kAdded = {0.05, 0.1, 0.15, 0.2, 0.3};
  Planes hsv = rgb_to_hsv(image);
  for (double& value : hsv[2].values) value = std::clamp(value + kAdded[level], 0.0, 1.0);
  return hsv_to_rgb(hsv);
}

Planes contrast(const Planes& image, int level) {
  constexpr std::array<double, 5> kFactor = {0.75, 0.5, 0.4, 0.3, 0.15};
  Planes out = image;
  for (Plane& plane : out) {
    const double mean = std::accumulate(plane.values.begin(), plane.values.end(), 0.0) / static_cast<double>(plane.values.size());
    for (double& value : plane.values) value = (value - mean) * kFactor[level] + mean;
  }
  return out;
}

Planes saturate(const Planes& image, int level) {
  constexpr std::array<std::array<double, 2>, 5> kSaturation = {{{0.3, 0}, {0.1, 0}, {1.5, 0}, {2, 0.1}, {2.5, 0.2}}};
  Planes hsv = rgb_to_hsv(image);
  for (double& value : hsv[1].values) value = std::clamp(value * kSaturation[level][0] + kSaturation[level][1], 0.0, 1.0);
  return hsv_to_rgb(hsv);
}

Planes jpeg(const Planes& image, int level) {
  constexpr std::array<int, 5> kQuality = {80, 65, 58, 50, 40};
  return planes_of(decode_jpeg(encode_jpeg(image_of(image), kQuality[level]), "corruption jpeg", whole_region).image);
}

Planes pixelate(const Planes& image, int level) {
  constexpr std::array<double, 5> kScale = {0.95, 0.9, 0.85, 0.75, 0.65};
  const int small = static_cast<int>(kSide * kScale[level]);
  Planes out = image;
  for (Plane& plane : out) plane = box_resized(box_resized(plane, small, small), plane.height, plane.width);
  return out;
}

Planes elastic(const Planes& image, int level, Random& random) {
  struct Elastic {
    double strength, sigma, reach;  // over the side
  };
  constexpr std::array<Elastic, 5> kElastic = {{{0, 0, 0.08}, {0.05, 0.2, 0.07}, {0.08, 0.06, 0.06}, {0.1, 0.04, 0.05}, {0.1, 0.03, 0.03}}};
  const Elastic& c = kElastic[level];
  const Planes tilted = randomly_tilted(image, kSide * c.reach, random);
  const Plane dx = displacement(image, kSide * c.sigma, kSide * c.strength, random);
  const Plane dy = displacement(image, kSide * c.sigma, kSide * c.strength, random);
  return sampled(tilted, Border::kReflect, [&](int y, int x) { return std::pair{y + dy.at(y, x), x + dx.at(y, x)}; });
}

}  // namespace debias::corruptions
