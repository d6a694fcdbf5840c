// Patches as words: what an image shows, wherever it shows it.
//
// A patch is a square of an eighth of the image's width, at 15 x 15 places that overlap by half; it is known by the mean and the standard
// deviation of its colours. k-means makes kWords words of a sample of patches; an image is the square roots of its words' shares.
#pragma once

#include <cstdint>
#include <vector>

#include "debias/audit/picture_features.h"

namespace debias {

constexpr int64_t kWords = 128;

class PatchWords {
 public:
  PatchWords(const std::vector<PictureFeatures>& pictures, uint64_t seed);

  std::vector<float> histogram(const PictureFeatures& picture) const;  // [kWords]

 private:
  std::vector<CellColour> words_;
};

}  // namespace debias
