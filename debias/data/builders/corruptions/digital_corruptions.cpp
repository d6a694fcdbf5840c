#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "debias/data/builders/corruptions/corruption_kinds.h"
#include "debias/data/jpeg_encode.h"
#include "debias/image/decoders.h"

namespace debias::corruptions {
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
