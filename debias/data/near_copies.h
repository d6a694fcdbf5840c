// Images of a set that show one source: copies, and frames that are nearly the same (groups_of_near_copies in row_groups.h).
//
// A split that is drawn from training keeps them on one side. Where joining near-copies would make one group of a fifth of the images, or of a
// class, as of drawings and digits that look alike, only copies are joined, whose 16 x 16 pixels differ by at most 2 of 255 on average and 16.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "debias/data/dataset.h"

namespace debias {

constexpr int64_t kMostComparedImages = 20'000;  // more are not compared: every two of them would be

using SmallPixels = std::array<uint8_t, 768>;  // 16 x 16 x 3
SmallPixels small_pixels(const Image& image);

struct NearCopies {
  std::vector<int64_t> source_of_image;  // empty: no image has a copy
  int64_t sources = 0;
};

// Of none (an image that cannot be read) there are no copies. Nothing where all images are of one source.
// `labels`: one an image.
NearCopies near_copies_of(const std::vector<std::optional<SmallPixels>>& images, const std::vector<int64_t>& labels);

// Reads every image, JPEG at a reduced size. Nothing for more than kMostComparedImages.
NearCopies find_near_copies(const Dataset& images);

// "960 images are 160 sources: copies stay on one side", or that so many were not compared; empty without copies.
std::string note_on_copies(const NearCopies& copies, int64_t images);

}  // namespace debias
