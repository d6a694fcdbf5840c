// A bag of visual words: the content of an image's patches, regardless of their place.
//
// A patch is a square of an eighth of the image's width, at 15 x 15 places that overlap by half. Its features are the mean and the standard
// deviation of its colours. k-means makes kWords words of a sample of patches. The features of an image are the square roots of its words'
// shares.
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
