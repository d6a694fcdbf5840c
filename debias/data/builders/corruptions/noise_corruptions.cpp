#include <algorithm>
#include <array>
#include <cmath>

#include "debias/data/builders/corruptions/corruption_kinds.h"

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

}  // namespace debias::corruptions
