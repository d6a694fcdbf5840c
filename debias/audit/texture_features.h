// Properties of a whole image that a single number does not describe.
//   tones        square roots of the shares of red, green and blue values in 32 equal ranges: exposure, posterisation, greyscale, inversion
//   frequencies  logarithms of the mean squared coefficients of the DCT of its 8 x 8 blocks, without the constant one: compression, filters,
//                resampling, screens and moire
//   lines        logarithms of the largest second differences of the row means (column means) in 32 bands of rows (of columns): scan lines,
//                rulers, seams, which are too thin for a cell
//   tone curve   quantiles of luma and of the channels (tone_curve.h): exposure, contrast, gamma, clipped ends
//   level use    gaps and peaks among the 256 levels (tone_curve.h): a curve, a palette or a posterisation
//   colours      relations of the channels, and saturation (colour_relations.h)
//   fringes      channels that are shifted or blurred against each other (colour_fringes.h)
//   step pairs   how one step of luma follows another (step_pairs.h): filters, resampling, noise
//   stripes      signed steps of whole rows and columns (stripe_features.h)
//   shading      gradual changes of brightness (shading_features.h): vignettes, light from one side
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "debias/audit/colour_fringes.h"
#include "debias/audit/colour_relations.h"
#include "debias/audit/shading_features.h"
#include "debias/audit/step_pairs.h"
#include "debias/audit/stripe_features.h"
#include "debias/audit/tone_curve.h"
#include "debias/image/image.h"

namespace debias {

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
