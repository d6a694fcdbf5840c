#include "debias/audit/texture_features.h"

#include <algorithm>
#include <cmath>

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

}  // namespace debias
