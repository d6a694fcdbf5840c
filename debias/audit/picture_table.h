// The images of an audit, read once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "debias/audit/file_facts.h"
#include "debias/audit/picture_features.h"
#include "debias/core/progress.h"
#include "debias/data/data_check.h"
#include "debias/image/image.h"

namespace debias {

struct PictureFile {
  std::string path;    // path of the file
  std::string source;  // name in the data set
  std::string name;    // below the folder of its class
};

struct PictureTable {
  std::vector<PictureFeatures> pictures;
  std::vector<FileFacts> files;
  std::vector<int64_t> index;  // indices into the requested files, without unreadable ones
  std::vector<BadFile> bad;    // the unreadable files
};

// Decodes every file, large JPEGs at a reduced size plus their middle at full size, on all cores.
PictureTable read_pictures(std::span<const PictureFile> files, Progress& progress);

// For a page: rotated upright, resized to a square of `side` pixels.
Image read_thumbnail(const PictureFile& file, int side);

}  // namespace debias
