// Spatter: drops of water at the lower severities, mud at the upper ones. The water's relief goes through edges, distances and an
// equalised histogram, each as OpenCV computes it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "debias/data/builders/corruptions/corruption_kinds.h"

namespace debias::corruptions {
namespace {

struct Spatter {
  double mean, deviation, sigma, threshold, last;  // last: the water's strength, or the blur of the mud's edge
};
constexpr std::array<Spatter, 5> kSpatter = {{{0.62, 0.1, 0.7, 0.7, 0.5},
                                              {0.65, 0.1, 0.8, 0.7, 0.5},
                                              {0.65, 0.3, 1, 0.69, 0.5},
                                              {0.65, 0.1, 0.7, 0.69, 0.6},
                                              {0.65, 0.1, 0.5, 0.68, 0.6}}};

// Whole numbers 0 to 255 in a plane, so that the filters of plane.h serve.
Plane saturated(Plane plane) {
  for (double& value : plane.values) value = std::clamp(std::nearbyint(value), 0.0, 255.0);
  return plane;
}

// cv2.blur with a 3x3 window: the sum is exact, the mean float32, so that nine like values keep theirs.
Plane mean_of_nine(const Plane& in) {
  Plane mean = correlated(in, Plane(3, 3, 1));
  for (double& value : mean.values) value = static_cast<float>(value * (1.0 / 9));
  return mean;
}

Plane sobel(const Plane& in, bool along_x) {
  constexpr std::array<int, 3> kSmooth = {1, 2, 1}, kSlope = {-1, 0, 1};
  Plane out(in.height, in.width);
  for (int y = 0; y < in.height; ++y) {
    for (int x = 0; x < in.width; ++x) {
      for (int dy = 0; dy < 3; ++dy) {
        for (int dx = 0; dx < 3; ++dx) {
          const int weight = along_x ? kSmooth[dy] * kSlope[dx] : kSlope[dy] * kSmooth[dx];
          out.at(y, x) += weight * in.at(folded(y + dy - 1, in.height, Border::kNearest), folded(x + dx - 1, in.width, Border::kNearest));
        }
      }
    }
  }
  return out;
}

// cv2.Canny(in, 50, 150): 3x3 Sobel, L1 magnitudes, the octant from tan 22.5 degrees, hysteresis over eight neighbours. True at edges.
std::vector<bool> canny(const Plane& in) {
  constexpr double kLow = 50, kHigh = 150, kTan = 0.4142135623730951;
  const int height = in.height, width = in.width;
  const Plane dx = sobel(in, true), dy = sobel(in, false);
  const auto magnitude = [&](int y, int x) {
    if (y < 0 || x < 0 || y >= height || x >= width) return 0.0;
    return std::abs(dx.at(y, x)) + std::abs(dy.at(y, x));
  };
  std::vector<bool> weak(in.values.size()), edge(in.values.size());
  std::vector<std::pair<int, int>> open;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double m = magnitude(y, x), across = std::abs(dx.at(y, x)), down = std::abs(dy.at(y, x));
      if (m <= kLow) continue;
      bool peak;
      if (down < kTan * across) {
        peak = m > magnitude(y, x - 1) && m >= magnitude(y, x + 1);
      } else if (down > (kTan + 2) * across) {
        peak = m > magnitude(y - 1, x) && m >= magnitude(y + 1, x);
      } else {
        const int s = (dx.at(y, x) < 0) != (dy.at(y, x) < 0) ? -1 : 1;
        peak = m > magnitude(y - 1, x - s) && m > magnitude(y + 1, x + s);
      }
      if (!peak) continue;
      const auto i = static_cast<size_t>(y * width + x);
      weak[i] = true;
      if (m > kHigh) {
        edge[i] = true;
        open.emplace_back(y, x);
      }
    }
  }
  while (!open.empty()) {
    const auto [y, x] = open.back();
    open.pop_back();
    for (int v = std::max(0, y - 1); v <= std::min(height - 1, y + 1); ++v) {
      for (int u = std::max(0, x - 1); u <= std::min(width - 1, x + 1); ++u) {
        const auto i = static_cast<size_t>(v * width + u);
        if (!weak[i] || edge[i]) continue;
        edge[i] = true;
        open.emplace_back(v, u);
      }
    }
  }
  return edge;
}

// cv2.distanceTransform(., DIST_L2, 5) to the nearest edge, by chamfer steps of 1, 1.4 and 2.1969 (in 16 binary places); at most `cap`.
Plane distance_to(const std::vector<bool>& edge, int height, int width, double cap) {
  constexpr double kDiagonal = 91750 / 65536.0, kKnight = 143976 / 65536.0;
  Plane distance(height, width, cap);
  for (size_t i = 0; i < edge.size(); ++i) {
    if (edge[i]) distance.values[i] = 0;
  }
  const auto relax = [&](int y, int x) {
    for (int dy = -2; dy <= 2; ++dy) {
      for (int dx = -2; dx <= 2; ++dx) {
        const int steps = dx * dx + dy * dy;
        const double length = steps == 1 ? 1 : steps == 2 ? kDiagonal : steps == 5 ? kKnight : cap;
        const int v = y + dy, u = x + dx;
        if (v < 0 || u < 0 || v >= height || u >= width) continue;
        distance.at(y, x) = std::min(distance.at(y, x), distance.at(v, u) + length);
      }
    }
  };
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) relax(y, x);
  }
  for (int y = height - 1; y >= 0; --y) {
    for (int x = width - 1; x >= 0; --x) relax(y, x);
  }
  return distance;
}

Plane equalised(const Plane& in) {  // cv2.equalizeHist
  std::array<int, 256> histogram{};
  for (double value : in.values) ++histogram[static_cast<size_t>(value)];
  size_t lowest = 0;
  while (histogram[lowest] == 0) ++lowest;
  const auto total = static_cast<int>(in.values.size());
  if (histogram[lowest] == total) return in;
  std::array<double, 256> table{};
  double below = 0;
  for (size_t i = lowest + 1; i < table.size(); ++i) {
    below += histogram[i];
    table[i] = std::nearbyint(below * 255 / (total - histogram[lowest]));
  }
  Plane out = in;
  for (double& value : out.values) value = table[static_cast<size_t>(value)];
  return out;
}

// The drops' relief, 0 to 1, from the liquid in bytes.
Plane water(const Plane& liquid) {
  constexpr double kFarthest = 20;
  Plane relief = mean_of_nine(distance_to(canny(liquid), liquid.height, liquid.width, kFarthest));
  for (double& value : relief.values) value = std::floor(value);
  Plane emboss(3, 3);
  emboss.values = {-2, -1, 0, -1, 1, 1, 0, 1, 2};
  relief = saturated(mean_of_nine(saturated(correlated(equalised(relief), emboss))));
  double highest = 0;
  for (size_t i = 0; i < relief.values.size(); ++i) {
    relief.values[i] *= liquid.values[i];
    highest = std::max(highest, relief.values[i]);
  }
  if (highest == 0) return relief;  // no drop at all; the released code divides by this
  for (double& value : relief.values) value /= highest;
  return relief;
}

}  // namespace

Planes spatter(const Planes& image, int level, Random& random) {
  const Spatter& c = kSpatter[level];
  const bool mud = level >= 3;
  Plane liquid(image[0].height, image[0].width);
  for (double& value : liquid.values) value = c.mean + c.deviation * random.normal();
  liquid = gaussian(liquid, c.sigma);
  Planes out = image;
  if (mud) {
    for (double& value : liquid.values) value = value > c.threshold ? 1 : 0;
    Plane cover = gaussian(liquid, c.last);
    constexpr std::array<double, 3> kBrown = {63 / 255.0, 42 / 255.0, 20 / 255.0};
    for (size_t p = 0; p < 3; ++p) {
      for (size_t i = 0; i < cover.values.size(); ++i) {
        const double m = cover.values[i] < 0.8 ? 0 : cover.values[i];
        out[p].values[i] = image[p].values[i] * (1 - m) + m * kBrown[p];
      }
    }
    return out;
  }
  for (double& value : liquid.values) value = value < c.threshold ? 0 : std::floor(std::min(255.0, value * 255));
  const Plane relief = water(liquid);
  constexpr std::array<double, 3> kTurquoise = {175 / 255.0, 238 / 255.0, 238 / 255.0};
  for (size_t p = 0; p < 3; ++p) {
    for (size_t i = 0; i < relief.values.size(); ++i) out[p].values[i] = image[p].values[i] + c.last * relief.values[i] * kTurquoise[p];
  }
  return out;
}

}  // namespace debias::corruptions
