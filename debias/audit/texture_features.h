// Properties of a whole image that a single number does not describe.
//   tones        square roots of the shares of red, green and blue values in 32 equal ranges: exposure, posterisation, greyscale, inversion
//   frequencies  logarithms of the mean squared coefficients of the DCT of its 8 x 8 blocks, without the constant one: compression, filters,
//                resampling, screens and moire
//   lines        logarithms of the largest second differences of the row means (column means) in 32 bands of rows (of columns): scan lines,
//                rulers, seams, which are too thin for a cell
//   tone curve   quantiles of luma and of the channels (ToneCurve): exposure, contrast, gamma, clipped ends
//   level use    gaps and peaks among the 256 levels (ToneCurve): a curve, a palette or a posterisation
//   colours      relations of the channels, and saturation (pixel_relations.h)
//   fringes      channels that are shifted or blurred against each other (pixel_relations.h)
//   step pairs   how one step of luma follows another (pixel_relations.h): filters, resampling, noise
//   stripes      signed steps of whole rows and columns (place_features.h)
//   shading      gradual changes of brightness (place_features.h): vignettes, light from one side
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "debias/audit/pixel_relations.h"
#include "debias/audit/place_features.h"
#include "debias/image/image.h"

namespace debias {

// The tone curve of an image: quantiles of luma and of the channels, and which of the 256 levels it uses.
//
// Exposure, contrast and gamma move the quantiles, and so does content. Level use is the trace of a curve that was applied to 8-bit values:
// gaps and peaks of the histogram. The content of an image affects it little. A later lossy compression removes it.
constexpr int kToneCurveValues = 28, kLevelUseValues = 30;

struct ToneCurve {
  // Quantiles 0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99 and 1 of luma; 0, 0.02, 0.5, 0.98 and 1 of red, green and blue;
  // skewness and kurtosis of luma. Levels are in [0, 1].
  std::array<float, kToneCurveValues> quantiles;
  // For red, green and blue: logs of the second differences of the histogram, of neighbouring levels and of those two apart, relative to
  // sampling noise; log of the number of gaps relative to an expected one; shares of the levels that are 0, 1, 2 and 3 modulo 4; their
  // distance from a quarter; logs of the peaks at both ends of the range.
  std::array<float, kLevelUseValues> use;
};

ToneCurve tone_curve(const Image& image);  // RGB

struct Luma {
  int height, width;
  std::vector<float> values;  // 0 to 255, by row

  float at(int y, int x) const { return values[static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)]; }
};
Luma luma_of(const Image& image);  // of red, green and blue, with the weights of ITU-R BT.601

enum class TextureProperty { kTones, kFrequencies, kLines, kToneCurve, kLevelUse, kColours, kFringes, kStepPairs, kStripes, kShading };
constexpr int kTextureProperties = 10;
std::string_view name_of(TextureProperty property);

constexpr int kTones = 32, kFrequencies = 63, kLineBands = 32, kLineValues = 2 * kLineBands;

struct TextureFeatures {
  std::array<float, kTones> tones;
  std::array<float, kFrequencies> frequencies;
  std::array<float, kLineValues> lines;
  ToneCurve tone_curve;
  std::array<float, kColourRelations> colours;
  std::array<float, kFringeValues> fringes;
  std::array<float, kStepPairValues> step_pairs;
  std::array<float, kStripeValues> stripes;
  std::array<float, kShadingValues> shading;

  std::span<const float> values(TextureProperty property) const;
};

// `whole` is the image, possibly reduced: it has the lines, stripes and shading. `detail` is a part at full resolution that begins at a
// multiple of 8 in both directions, `luma` is of it: they have the others. Images are RGB.
TextureFeatures texture_features(const Image& whole, const Image& detail, const Luma& luma);

}  // namespace debias
