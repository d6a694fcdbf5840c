#include <algorithm>
#include <array>
#include <cmath>

#include "debias/data/builders/corruptions/corruption_kinds.h"

namespace debias::corruptions {
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

}  // namespace debias::corruptions
