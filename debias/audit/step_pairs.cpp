#include "debias/audit/step_pairs.h"

#include <algorithm>
#include <cmath>

namespace debias {
namespace {

constexpr int kMostSteps = 2, kPairsOfDirection = kStepPairValues / 2;

// 0 to 12: the pair (a, b) and (-a, -b) alike.
size_t number_of_pair(int a, int b) {
  constexpr int kSide = 2 * kMostSteps + 1;
  const int pair = (a + kMostSteps) * kSide + b + kMostSteps;
  return static_cast<size_t>(std::min(pair, kSide * kSide - 1 - pair));
}

double mean_step(const PixelPlane& luma) {
  double sum = 0;
  for (const Direction d : kBothDirections) sum += static_cast<double>(sum_of_magnitudes(luma.first(d)));
  return sum / (2 * static_cast<double>(luma.value.size()));
}

}  // namespace

std::array<float, kStepPairValues> step_pairs(const PixelDifferences& differences) {
  constexpr double kUnit = 0.8, kLeastMean = 0.3 * kLumaScale;
  const PixelPlane& luma = differences.luma;
  std::array<float, kStepPairValues> out{};
  if (luma.value.empty()) return out;
  const double unit = kUnit * (mean_step(luma) + kLeastMean);
  const auto one = static_cast<int32_t>(std::ceil(unit / 2)), two = static_cast<int32_t>(std::ceil(3 * unit / 2));
  const auto rounded = [one, two](int32_t step) { return (step >= one) + (step >= two) - (step <= -one) - (step <= -two); };
  for (const Direction d : kBothDirections) {
    std::array<int64_t, kPairsOfDirection> counts{};
    for (size_t i = 0; i < luma.value.size(); ++i) ++counts[number_of_pair(rounded(luma.first(d)[i]), rounded(luma.second(d)[i]))];
    std::ranges::transform(counts, out.begin() + (d == Direction::kRight ? 0 : kPairsOfDirection),
                           [&](int64_t count) { return std::sqrt(static_cast<float>(count) / static_cast<float>(luma.value.size())); });
  }
  return out;
}

}  // namespace debias
