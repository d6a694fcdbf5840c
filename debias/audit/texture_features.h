// Properties of a whole image that a single number does not describe: its tones, its spatial frequencies, and its lines.
//   tones        square roots of the shares of red, green and blue values in 32 equal ranges: exposure, posterisation, greyscale, inversion
//   frequencies  logarithms of the mean squared coefficients of the DCT of its 8 x 8 blocks, without the constant one: compression, filters,
//                resampling, screens and moire
//   lines        logarithms of the largest second differences of the row means (column means) in 32 bands of rows (of columns): scan lines,
//                rulers, seams, which are too thin for a cell
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "debias/image/image.h"

namespace debias {

struct Luma {
  int height, width;
  std::vector<float> values;  // 0 to 255, by row

  float at(int y, int x) const { return values[static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)]; }
};
Luma luma_of(const Image& image);  // of red, green and blue, with the weights of ITU-R BT.601

enum class TextureProperty { kTones, kFrequencies, kLines };
std::string_view name_of(TextureProperty property);

constexpr int kTones = 32, kFrequencies = 63, kLineBands = 32, kLineValues = 2 * kLineBands;

struct TextureFeatures {
  std::array<float, kTones> tones;
  std::array<float, kFrequencies> frequencies;
  std::array<float, kLineValues> lines;
};

// `whole` is the image, possibly reduced: it has the lines. `detail` is a part at full resolution that begins at a multiple of 8 in both
// directions, `luma` is of it: they have the tones and frequencies. Images are RGB.
TextureFeatures texture_features(const Image& whole, const Image& detail, const Luma& luma);

}  // namespace debias
