#include "debias/audit/texture_features.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace debias {
namespace {

constexpr int kDctSide = 8;
using Block = std::array<std::array<float, kDctSide>, kDctSide>;

std::array<float, kTones> tones_of(const Image& image) {
  constexpr int kRange = 256 / kTones;
  std::array<int64_t, kTones> counts{};
  for (const uint8_t value : image.pixels) ++counts[value / kRange];
  std::array<float, kTones> tones;
  const auto n = static_cast<float>(image.pixels.size());
  std::ranges::transform(counts, tones.begin(), [n](int64_t count) { return std::sqrt(static_cast<float>(count) / n); });
  return tones;
}

// The orthonormal DCT of type II: row u has the u-th cosine.
Block cosines() {
  Block matrix;
  for (int u = 0; u < kDctSide; ++u) {
    for (int x = 0; x < kDctSide; ++x) {
      const double scale = u == 0 ? std::sqrt(1.0 / kDctSide) : std::sqrt(2.0 / kDctSide);
      matrix[static_cast<size_t>(u)][static_cast<size_t>(x)] =
          static_cast<float>(scale * std::cos(std::acos(-1.0) * u * (2 * x + 1) / (2 * kDctSide)));
    }
  }
  return matrix;
}

Block product(const Block& a, const Block& b) {
  Block out{};
  for (size_t i = 0; i < kDctSide; ++i) {
    for (size_t k = 0; k < kDctSide; ++k) {
      for (size_t j = 0; j < kDctSide; ++j) out[i][j] += a[i][k] * b[k][j];
    }
  }
  return out;
}

Block transposed(const Block& a) {
  Block out;
  for (size_t i = 0; i < kDctSide; ++i) {
    for (size_t j = 0; j < kDctSide; ++j) out[j][i] = a[i][j];
  }
  return out;
}

Block block_at(const Luma& luma, int top, int left) {
  Block block;
  for (int y = 0; y < kDctSide; ++y) {
    for (int x = 0; x < kDctSide; ++x) block[static_cast<size_t>(y)][static_cast<size_t>(x)] = luma.at(top + y, left + x);
  }
  return block;
}

// Distance of the blocks that are read: at most about 16 in a row, which is enough for means.
int block_step(int extent) {
  constexpr int kMostBlocks = 16;
  return kDctSide * std::max(1, extent / kDctSide / kMostBlocks);
}

// All equal in an image that is smaller than a block.
std::array<float, kFrequencies> frequencies_of(const Luma& luma) {
  static const Block kCosines = cosines(), kTransposed = transposed(kCosines);
  constexpr double kLeastEnergy = 0.05;  // half of the rounding to whole values
  std::array<double, kFrequencies + 1> energy{};
  int64_t blocks = 0;
  for (int y = 0; y + kDctSide <= luma.height; y += block_step(luma.height)) {
    for (int x = 0; x + kDctSide <= luma.width; x += block_step(luma.width), ++blocks) {
      const Block coefficients = product(product(kCosines, block_at(luma, y, x)), kTransposed);
      for (size_t i = 0; i < energy.size(); ++i) {
        const float value = coefficients[i / kDctSide][i % kDctSide];
        energy[i] += value * value;
      }
    }
  }
  std::array<float, kFrequencies> logarithms;
  for (size_t i = 0; i < kFrequencies; ++i) {
    logarithms[i] = static_cast<float>(std::log(energy[i + 1] / static_cast<double>(std::max<int64_t>(1, blocks)) + kLeastEnergy));
  }
  return logarithms;
}

std::vector<float> row_means(const Luma& luma) {
  std::vector<float> means(static_cast<size_t>(luma.height));
  for (int y = 0; y < luma.height; ++y) {
    float sum = 0;
    for (int x = 0; x < luma.width; ++x) sum += luma.at(y, x);
    means[static_cast<size_t>(y)] = sum / static_cast<float>(luma.width);
  }
  return means;
}

std::vector<float> column_means(const Luma& luma) {
  std::vector<float> means(static_cast<size_t>(luma.width));
  for (int y = 0; y < luma.height; ++y) {
    for (int x = 0; x < luma.width; ++x) means[static_cast<size_t>(x)] += luma.at(y, x);
  }
  for (float& mean : means) mean /= static_cast<float>(luma.height);
  return means;
}

void add_lines(const std::vector<float>& means, float* bands) {
  for (size_t i = 1; i + 1 < means.size(); ++i) {
    const float difference = std::log1p(std::abs(2 * means[i] - means[i - 1] - means[i + 1]));
    float& band = bands[i * kLineBands / means.size()];
    band = std::max(band, difference);
  }
}

std::array<float, kLineValues> lines_of(const Luma& luma) {
  std::array<float, kLineValues> lines{};
  add_lines(row_means(luma), lines.data());
  add_lines(column_means(luma), lines.data() + kLineBands);
  return lines;
}

}  // namespace

std::string_view name_of(TextureProperty property) {
  constexpr std::array<std::string_view, kTextureProperties> kNames = {"tones",   "frequencies", "lines",      "tone curve", "level use",
                                                                       "colours", "fringes",     "step pairs", "stripes",    "shading"};
  return kNames[static_cast<size_t>(property)];
}

Luma luma_of(const Image& image) {
  Luma luma{image.height, image.width, std::vector<float>(image.pixels.size() / 3)};
  for (size_t i = 0; i < luma.values.size(); ++i) {
    const uint8_t* p = image.pixels.data() + 3 * i;
    luma.values[i] = 0.299F * p[0] + 0.587F * p[1] + 0.114F * p[2];
  }
  return luma;
}

TextureFeatures texture_features(const Image& whole, const Image& detail, const Luma& luma) {
  const PixelDifferences differences = pixel_differences(detail);
  return {tones_of(detail),        frequencies_of(luma),          lines_of(luma_of(whole)),
          tone_curve(detail),      colour_relations(differences), colour_fringes(differences),
          step_pairs(differences), stripe_features(whole),        shading_features(whole)};
}

std::span<const float> TextureFeatures::values(TextureProperty property) const {
  switch (property) {
    case TextureProperty::kTones:
      return tones;
    case TextureProperty::kFrequencies:
      return frequencies;
    case TextureProperty::kLines:
      return lines;
    case TextureProperty::kToneCurve:
      return tone_curve.quantiles;
    case TextureProperty::kLevelUse:
      return tone_curve.use;
    case TextureProperty::kColours:
      return colours;
    case TextureProperty::kFringes:
      return fringes;
    case TextureProperty::kStepPairs:
      return step_pairs;
    case TextureProperty::kStripes:
      return stripes;
    case TextureProperty::kShading:
      break;
  }
  return shading;
}

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
