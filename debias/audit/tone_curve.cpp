#include "debias/audit/tone_curve.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>

namespace debias {
namespace {

constexpr int kLevels = 256;
using Histogram = std::array<int64_t, kLevels>;

struct Histograms {
  std::array<Histogram, 3> channels{};
  Histogram luma{};
  int64_t pixels = 0;
};

Histograms histograms_of(const Image& image) {
  Histograms found;
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    const uint8_t* p = image.pixels.data() + i;
    for (size_t c = 0; c < 3; ++c) ++found.channels[c][p[c]];
    ++found.luma[static_cast<size_t>(77 * p[0] + 150 * p[1] + 29 * p[2] + 128) / kLevels];
    ++found.pixels;
  }
  return found;
}

int level_at(const Histogram& counts, int64_t pixels, double share) {
  int64_t below = 0;
  for (int level = 0; level < kLevels; ++level) {
    below += counts[static_cast<size_t>(level)];
    if (below > 0 && static_cast<double>(below) >= share * static_cast<double>(pixels)) return level;
  }
  return kLevels - 1;
}

struct Shape {
  float skewness, kurtosis;
};

Shape shape_of(const Histogram& counts, int64_t pixels) {
  const auto n = static_cast<double>(pixels);
  const auto moment = [&](double centre, int power) {
    double sum = 0;
    for (size_t level = 0; level < kLevels; ++level) {
      double term = static_cast<double>(counts[level]);
      for (int i = 0; i < power; ++i) term *= static_cast<double>(level) - centre;
      sum += term;
    }
    return sum / n;
  };
  const double mean = moment(0, 1), deviation = std::sqrt(moment(mean, 2)) + 1;
  return {static_cast<float>(moment(mean, 3) / std::pow(deviation, 3)), static_cast<float>(moment(mean, 4) / std::pow(deviation, 4))};
}

// Of one channel.
std::array<float, kLevelUseValues / 3> level_use(const Histogram& counts, int64_t pixels) {
  constexpr int kLast = kLevels - 1;
  const auto at = [&](int level) { return static_cast<double>(counts[static_cast<size_t>(std::clamp(level, 0, kLast))]); };
  double noise = 0, near = 0, far = 0, gaps = 0, expected_gaps = 0;
  std::array<double, 4> residues{};
  for (int level = 1; level < kLast; ++level) {
    const double mean = (at(level - 1) + at(level) + at(level + 1)) / 3;
    near += std::abs(2 * at(level) - at(level - 1) - at(level + 1));
    if (level > 1 && level < kLast - 1) far += std::abs(2 * at(level) - at(level - 2) - at(level + 2));
    noise += std::sqrt(mean);
    if (mean == 0) continue;
    gaps += at(level) == 0 ? 1 : 0;
    expected_gaps += std::exp(-mean);
  }
  for (int level = 0; level < kLevels; ++level) residues[static_cast<size_t>(level % 4)] += at(level) / static_cast<double>(pixels);
  double uneven = 0;
  for (const double share : residues) uneven += std::abs(share - 0.25);
  const int low = level_at(counts, pixels, 0), high = level_at(counts, pixels, 1);
  const auto peak = [&](int end, int inwards) { return std::log((at(end) + 1) / ((at(end + inwards) + at(end + 2 * inwards)) / 2 + 1)); };
  const std::array<double, kLevelUseValues / 3> values = {std::log((near + 1) / (noise + 1)),
                                                          std::log((far + 1) / (noise + 1)),
                                                          std::log((gaps + 2) / (expected_gaps + 2)),
                                                          residues[0],
                                                          residues[1],
                                                          residues[2],
                                                          residues[3],
                                                          std::log(uneven + 0.05),
                                                          peak(low, 1),
                                                          peak(high, -1)};
  std::array<float, kLevelUseValues / 3> out;
  std::ranges::transform(values, out.begin(), [](double value) { return static_cast<float>(value); });
  return out;
}

}  // namespace

ToneCurve tone_curve(const Image& image) {
  constexpr std::array<double, 11> kOfLuma = {0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1};
  constexpr std::array<double, 5> kOfChannel = {0, 0.02, 0.5, 0.98, 1};
  const Histograms found = histograms_of(image);
  ToneCurve curve{};
  size_t used = 0;
  const auto add_quantiles = [&](const Histogram& counts, std::span<const double> shares) {
    for (const double share : shares) curve.quantiles[used++] = static_cast<float>(level_at(counts, found.pixels, share)) / (kLevels - 1);
  };
  add_quantiles(found.luma, kOfLuma);
  for (size_t c = 0; c < 3; ++c) {
    add_quantiles(found.channels[c], kOfChannel);
    const auto use = level_use(found.channels[c], found.pixels);
    std::ranges::copy(use, curve.use.begin() + static_cast<ptrdiff_t>(c * use.size()));
  }
  const Shape shape = shape_of(found.luma, found.pixels);
  curve.quantiles[used++] = shape.skewness;
  curve.quantiles[used++] = shape.kurtosis;
  return curve;
}

}  // namespace debias
