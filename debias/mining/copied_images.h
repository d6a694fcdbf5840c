// Finds pairs of rows that show one image: the same pixels except for compression, a crop, a flip or another size.
//
// Both images are shrunk to 40 x 40. One whole image is compared with the other and with 90 crops of it of 87 to 97 % of each side. The
// roles are then exchanged, and each comparison is repeated mirrored. A comparison is the correlation of the detail that a Gaussian of
// sigma 2 removes from 16 x 16 x 3 values, so a shared background without detail has no effect. Whole images that correlate below 0.45 are
// not compared further. A copy correlates at 0.88 or more and differs by at most 16 of 255 in the mean of each channel; a recoloured image
// is no copy. Images without detail (deviation below 1) are copies if no value differs by more than 2.
//
// It does not find rotations, crops of less than 85 % of a side, and added borders or text over much of the image. Two video frames of one
// scene that differ by less than about a pixel of 40 count as one image.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "debias/core/progress.h"
#include "debias/image/image.h"
#include "debias/mining/mined_pairs.h"

namespace debias {

// An image at 40 x 40, prepared for comparison.
class CopyThumbnail {
 public:
  explicit CopyThumbnail(const Image& image);

  // The largest of the correlations above, in [-1, 1]; -1 if the pair cannot be a copy.
  double correlation(const CopyThumbnail& other) const;
  bool is_copy_of(const CopyThumbnail& other) const;

 private:
  Image image_;
};

// The image of row a (`of_second` false) or b (true); throws a data error if it cannot be read.
using ReadPairImage = std::function<Image(int64_t row, bool of_second)>;

struct ConfirmedCopies {
  std::vector<MinedPair> pairs;  // in the order of the candidates
  int64_t unreadable = 0;        // images that could not be read; their pairs are left out
  std::string first_unreadable;  // error of that image
};

// `candidates` may have any order. Each image is read once, on all cores. Memory: 5 KB per image.
ConfirmedCopies confirm_copies(const std::vector<MinedPair>& candidates, const ReadPairImage& read, Progress& progress);

}  // namespace debias
