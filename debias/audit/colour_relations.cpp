#include "debias/audit/colour_relations.h"

#include <algorithm>
#include <cmath>

namespace debias {
namespace {

using ChannelPair = std::array<size_t, 2>;
constexpr std::array<ChannelPair, 3> kChannelPairs = {{{0, 1}, {1, 2}, {0, 2}}};

// Moments of two planes. Planes may be empty.
struct Moments {
  double mean_a, mean_b, variance_a, variance_b, covariance;
};

Moments moments_of(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  const double n = std::max<double>(1, static_cast<double>(a.size()));
  Moments m{static_cast<double>(sum_of(a)) / n, static_cast<double>(sum_of(b)) / n, 0, 0, 0};
  m.variance_a = static_cast<double>(sum_of_products(a, a)) / n - m.mean_a * m.mean_a;
  m.variance_b = static_cast<double>(sum_of_products(b, b)) / n - m.mean_b * m.mean_b;
  m.covariance = static_cast<double>(sum_of_products(a, b)) / n - m.mean_a * m.mean_b;
  return m;
}

float fisher_z(const Moments& m) {
  constexpr double kMost = 0.999;  // of a correlation
  const double scale = std::sqrt(std::max(0.0, m.variance_a) * std::max(0.0, m.variance_b));
  return static_cast<float>(std::atanh(kMost * std::clamp((m.covariance + 1e-3) / (scale + 1e-3), -1.0, 1.0)));
}

float log_deviation(const std::vector<int32_t>& plane, double scale) {
  return static_cast<float>(std::log(std::sqrt(std::max(0.0, moments_of(plane, plane).variance_a)) / scale + 1));
}

double mean_magnitude(const std::vector<int32_t>& plane) {
  return static_cast<double>(sum_of_magnitudes(plane)) / std::max<double>(1, static_cast<double>(plane.size()));
}

// Logs of the mean absolute step and curvature, both directions together.
struct Roughness {
  float steps, curvature;
};

Roughness roughness_of(const PixelPlane& plane, double scale) {
  double steps = 0, curvature = 0;
  for (const Direction direction : kBothDirections) {
    steps += mean_magnitude(plane.first(direction));
    curvature += mean_magnitude(minus(plane.second(direction), plane.first(direction)));
  }
  constexpr double kFloorOfSteps = 0.1;
  return {static_cast<float>(std::log(steps / scale + kFloorOfSteps)), static_cast<float>(std::log(curvature / scale + kFloorOfSteps))};
}

PixelPlane minus_green(const PixelDifferences& differences, size_t channel) {
  const PixelPlane &a = differences.channels[channel], &b = differences.channels[1];
  PixelPlane out{minus(a.value, b.value), {}, {}};
  for (size_t d = 0; d < 2; ++d) {
    out.step[d] = minus(a.step[d], b.step[d]);
    out.next_step[d] = minus(a.next_step[d], b.next_step[d]);
  }
  return out;
}

// Of values 0 to 255.
std::array<float, 6> quantiles(const std::array<int64_t, 256>& counts, int64_t n) {
  constexpr std::array<double, 6> kShares = {0.05, 0.25, 0.5, 0.75, 0.95, 1};
  std::array<float, 6> out{};
  int64_t below = 0;
  size_t next = 0;
  for (size_t value = 0; value < counts.size(); ++value) {
    below += counts[value];
    while (next < kShares.size() && below > 0 && static_cast<double>(below) >= kShares[next] * static_cast<double>(n)) {
      out[next++] = static_cast<float>(value);
    }
  }
  return out;
}

struct Chroma {
  std::array<int64_t, 256> saturation{}, chroma{};  // counts
  std::vector<int32_t> values;                      // of chroma
  int64_t lowest = 0, highest = 0;                  // pixels with a channel at the end of the range
};

Chroma chroma_counts(const PixelDifferences& differences) {
  constexpr int kSoft = 8;  // saturation of dark pixels is noise
  const auto& [r, g, b] = differences.channels;
  Chroma found;
  found.values.reserve(r.value.size());
  for (size_t i = 0; i < r.value.size(); ++i) {
    const auto [least, most] = std::minmax({r.value[i], g.value[i], b.value[i]});
    ++found.chroma[static_cast<size_t>(most - least)];
    ++found.saturation[static_cast<size_t>(255 * (most - least) / (most + kSoft))];
    found.values.push_back(most - least);
    found.lowest += least <= 1 ? 1 : 0;
    found.highest += most >= 254 ? 1 : 0;
  }
  return found;
}

}  // namespace

std::array<float, kColourRelations> colour_relations(const PixelDifferences& differences) {
  std::array<float, kColourRelations> out{};
  size_t used = 0;
  const auto add = [&](float value) { out[used++] = value; };
  const auto& channels = differences.channels;
  for (const auto& [a, b] : kChannelPairs) {
    add(fisher_z(moments_of(channels[a].value, channels[b].value)));
    for (const Direction d : kBothDirections) add(fisher_z(moments_of(channels[a].first(d), channels[b].first(d))));
  }
  std::array<Roughness, 3> rough;
  for (size_t c = 0; c < 3; ++c) rough[c] = roughness_of(channels[c], 1);
  for (const size_t c : {size_t{0}, size_t{2}}) {
    add(log_deviation(channels[c].value, 1) - log_deviation(channels[1].value, 1));
    add(rough[c].steps - rough[1].steps);
  }
  for (const Roughness& r : rough) add(r.curvature - r.steps);
  const Roughness luma = roughness_of(differences.luma, kLumaScale);
  for (const size_t c : {size_t{0}, size_t{2}}) {
    const PixelPlane colour = minus_green(differences, c);
    const Roughness own = roughness_of(colour, 1);
    add(own.steps - luma.steps);
    add(own.curvature - luma.curvature);
    add(log_deviation(colour.value, 1) - log_deviation(differences.luma.value, kLumaScale));
    const Moments m = moments_of(colour.value, differences.luma.value);
    add(static_cast<float>(m.covariance / (m.variance_b + 1)));
  }
  const Chroma chroma = chroma_counts(differences);
  const auto n = std::ssize(chroma.values);
  for (const float value : quantiles(chroma.saturation, n)) add(value / 255);
  for (const float value : quantiles(chroma.chroma, n)) add(std::log1p(value));
  const Moments m = moments_of(chroma.values, differences.luma.value);
  add(static_cast<float>(m.covariance / (m.variance_b + 1)));
  for (const int64_t count : {chroma.lowest, chroma.highest}) {
    add(std::sqrt(static_cast<float>(count) / static_cast<float>(std::max<int64_t>(1, n))));
  }
  return out;
}

}  // namespace debias
