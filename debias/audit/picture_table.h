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
  std::string path;    // to read it
  std::string source;  // as the data set names it
  std::string name;    // below the folder of its class
};

struct PictureTable {
  std::vector<PictureFeatures> pictures;
  std::vector<FileFacts> files;
  std::vector<int64_t> index;  // into the requested files; those that cannot be read are left out
  std::vector<BadFile> bad;    // these
};

// Decodes every file, large JPEGs at a reduced size plus their middle at full size, on all cores.
PictureTable read_pictures(std::span<const PictureFile> files, Progress& progress);

// For a page: upright, `side` pixels square, squeezed.
Image read_thumbnail(const PictureFile& file, int side);

}  // namespace debias
