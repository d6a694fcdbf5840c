// The images of an audit, each read once and kept small.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "debias/audit/file_facts.h"
#include "debias/audit/picture_features.h"
#include "debias/core/progress.h"
#include "debias/data/data_check.h"
#include "debias/image/image.h"
#include "debias/image/image_decode.h"

namespace debias {

struct PictureFile {
  std::string path;    // path of the file
  std::string source;  // name in the data set
  std::string name;    // below the folder of its class
  ImageReading reading = ExifOrientation::kApplied;
  std::string mask = {};  // path of the image that says where its object is; empty: none
};

enum class EdgeSide { kTop, kBottom, kLeft, kRight };
constexpr int kSides = 4;

// Along one side of an image: the mean colour and the largest deviation of a channel, in levels of 255.
struct EdgeBand {
  std::array<float, 3> mean{};
  float deviation = 0;
};

// 9 x 9 pixels around a corner (Harris), less their mean, of length 1 in units of 1/127 of the largest value.
constexpr int kPatchSide = 9, kPatchValues = kPatchSide * kPatchSide * 3;
struct DetailPatch {
  std::array<int8_t, kPatchValues> values;
  float length = 1;    // of `values`
  float level = 0;     // mean of the pixels, in levels of 255
  float largest = 0;   // difference to it
  float x = 0, y = 0;  // of the corner, in fractions of the image
};

struct Picture {
  FileFacts facts;
  PictureFeatures features;
  std::vector<uint8_t> thumbnail;          // [side, side, 3]
  std::array<uint8_t, 16 * 16 * 3> small;  // the whole image
  std::array<EdgeBand, kSides> edge;       // the outermost row of pixels
  std::array<EdgeBand, kSides> border;     // the outer 3 %
  bool dark_corners = false;
  std::vector<DetailPatch> details;
  std::vector<bool> object = {};  // [side, side], of the mask; empty without one
};

struct PictureTable {
  int side = 0;  // of thumbnails
  std::vector<Picture> pictures;
  std::vector<int64_t> index;  // indices into the requested files, without unreadable ones
  std::vector<BadFile> bad;    // the unreadable files
};

// A side that loses little of these images: 32, 48 or 96.
int thumbnail_side(std::span<const PictureFile> files);

// Decodes every file, large JPEGs at a reduced size plus their middle at full size, on all cores.
PictureTable read_pictures(std::span<const PictureFile> files, int side, Progress& progress);

}  // namespace debias
