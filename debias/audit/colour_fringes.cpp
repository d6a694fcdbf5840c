#include "debias/audit/colour_fringes.h"

#include <cmath>

namespace debias {
namespace {

double energy(const std::vector<int32_t>& steps) { return static_cast<double>(sum_of_products(steps, steps)) + 1; }

float shift_of(const PixelPlane& a, const PixelPlane& b, Direction d) {
  const auto later = static_cast<double>(sum_of_products(a.second(d), b.first(d)));
  const auto earlier = static_cast<double>(sum_of_products(a.first(d), b.second(d)));
  return static_cast<float>((later - earlier) / std::sqrt(energy(a.first(d)) * energy(b.first(d))));
}

// Log of the mean absolute curvature over steps.
float log_sharpness(const PixelPlane& plane, Direction d) {
  const double floor = 0.1 * static_cast<double>(plane.value.size()) + 1;
  const auto curvature = static_cast<double>(sum_of_magnitudes(minus(plane.second(d), plane.first(d))));
  return static_cast<float>(std::log((curvature + floor) / (static_cast<double>(sum_of_magnitudes(plane.first(d))) + floor)));
}

}  // namespace

std::array<float, kFringeValues> colour_fringes(const PixelDifferences& differences) {
  const auto& [red, green, blue] = differences.channels;
  std::array<float, kFringeValues> out{};
  size_t used = 0;
  for (const Direction d : kBothDirections) {
    for (const float shift : {shift_of(red, green, d), shift_of(green, blue, d), shift_of(red, blue, d)}) out[used++] = shift;
    const float reference = log_sharpness(green, d);
    for (const float own : {log_sharpness(red, d), log_sharpness(blue, d)}) out[used++] = own - reference;
  }
  return out;
}

}  // namespace debias
