#include "debias/audit/pixel_relations.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

namespace debias {
namespace {

constexpr int kSampledRows = 32;
constexpr size_t kSafeTerms = 1024;  // products of values up to 4 * 255 whose sum an int32_t holds

// Red, green, blue and luma of a row.
std::array<std::vector<int32_t>, 4> row_values(const Image& image, int y) {
  const auto width = static_cast<size_t>(image.width);
  std::array<std::vector<int32_t>, 4> out;
  for (auto& values : out) values.resize(width);
  const uint8_t* p = image.row(y);
  for (size_t x = 0; x < width; ++x, p += 3) {
    for (size_t c = 0; c < 3; ++c) out[c][x] = p[c];
    out[3][x] = (77 * p[0] + 150 * p[1] + 29 * p[2] + 32) / (256 / kLumaScale);
  }
  return out;
}

// Into the places from `at` on.
void put_row(const std::vector<int32_t>& row, const std::vector<int32_t>& below, const std::vector<int32_t>& lowest, size_t at,
             PixelPlane& plane) {
  for (size_t x = 0; x + 2 < row.size(); ++x) {
    plane.value[at + x] = row[x];
    plane.step[0][at + x] = row[x + 1] - row[x];
    plane.next_step[0][at + x] = row[x + 2] - row[x + 1];
    plane.step[1][at + x] = below[x] - row[x];
    plane.next_step[1][at + x] = lowest[x] - below[x];
  }
}

void resize_plane(PixelPlane& plane, size_t size) {
  plane.value.resize(size);
  for (size_t d = 0; d < 2; ++d) {
    plane.step[d].resize(size);
    plane.next_step[d].resize(size);
  }
}

}  // namespace

PixelDifferences pixel_differences(const Image& image) {
  PixelDifferences differences;
  if (image.height < 3 || image.width < 3) return differences;
  const int stride = std::max(1, image.height / kSampledRows);
  const auto width = static_cast<size_t>(image.width - 2), rows = static_cast<size_t>((image.height - 3) / stride + 1);
  const auto plane_of = [&](size_t k) -> PixelPlane& { return k < 3 ? differences.channels[k] : differences.luma; };
  for (size_t k = 0; k < 4; ++k) resize_plane(plane_of(k), rows * width);
  for (size_t r = 0; r < rows; ++r) {
    const int y = static_cast<int>(r) * stride;
    const auto row = row_values(image, y), below = row_values(image, y + 1), lowest = row_values(image, y + 2);
    for (size_t k = 0; k < 4; ++k) put_row(row[k], below[k], lowest[k], r * width, plane_of(k));
  }
  return differences;
}

int64_t sum_of(std::span<const int32_t> values) {
  int64_t sum = 0;
  for (const int32_t value : values) sum += value;
  return sum;
}

int64_t sum_of_magnitudes(std::span<const int32_t> values) {
  int64_t sum = 0;
  for (const int32_t value : values) sum += std::abs(value);
  return sum;
}

int64_t sum_of_products(std::span<const int32_t> a, std::span<const int32_t> b) {
  int64_t sum = 0;
  for (size_t first = 0; first < a.size(); first += kSafeTerms) {
    int32_t part = 0;
    for (size_t i = first; i < std::min(a.size(), first + kSafeTerms); ++i) part += a[i] * b[i];
    sum += part;
  }
  return sum;
}

std::vector<int32_t> minus(std::span<const int32_t> a, std::span<const int32_t> b) {
  std::vector<int32_t> difference(a.size());
  std::ranges::transform(a, b, difference.begin(), std::minus<>());
  return difference;
}

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
