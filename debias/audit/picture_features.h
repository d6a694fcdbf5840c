// The features that an audit keeps of an image: colour by place, and properties of the whole image.
//
// Colour is the mean and the standard deviation of red, green and blue, in [0, 1], in each cell of a grid of 16 x 16. Cells of coarser
// grids, the border, and patches are unions of these cells. Global properties are scalars, measured at full resolution in the middle of
// large images:
//   brightness        mean of luma
//   contrast          standard deviation of luma
//   chroma            mean distance of a pixel from grey
//   cast_red/blue     log ratio of red (blue) to green of the mean absolute gradient: the colour of the illumination rather than of objects
//                     (van de Weijer, Gevers and Gijsenij, "Edge-based color constancy", 2007)
//   gradient          log of the mean absolute difference of neighbours
//   sharpness         log ratio of the squared differences of neighbours and of pixels two apart: 0 for white noise, low after a blur
//   noise             log of the noise's standard deviation in the smoothest quarter of the blocks (Immerkaer, "Fast noise variance
//                     estimation", 1996)
//   blockiness        log ratio of the differences across the edges of JPEG's 8 x 8 blocks and within blocks
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "debias/audit/texture_features.h"
#include "debias/image/image.h"

namespace debias {

constexpr int kFineGrid = 16;
constexpr int kColourValues = 6;  // mean of R, G, B, then their standard deviations
using CellColour = std::array<float, kColourValues>;

enum class GlobalProperty { kBrightness, kContrast, kChroma, kCastRed, kCastBlue, kGradient, kSharpness, kNoise, kBlockiness };
constexpr int kGlobalProperties = 9;
std::string_view name_of(GlobalProperty property);

struct PictureFeatures {
  std::array<CellColour, kFineGrid * kFineGrid> cells;  // by row
  std::array<float, kGlobalProperties> global;
  TextureFeatures texture;

  // Colour of the `width` x `height` cells from (x, y) on.
  CellColour colour(int x, int y, int width, int height) const;
};

// `whole` is the image, possibly reduced. `detail` is a part at full resolution that begins at a multiple of 8 in both directions. Both are
// RGB and not empty.
PictureFeatures picture_features(const Image& whole, const Image& detail);

}  // namespace debias
