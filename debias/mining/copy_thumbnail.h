// Compares the pixels of two images: copies, images that merely look alike, or neither.
//
// Both images are shrunk to 40 x 40. One whole image is compared with the other and with 90 crops of it of 87 to 97 % of each side. The
// roles are then exchanged, and each comparison is repeated mirrored. A comparison is one of 16 x 16 x 3 values, split by a Gaussian of
// sigma 2 into a smooth part and detail. Images look alike if the detail correlates at 0.88 or more, so that a shared background without
// detail has no effect, and if the mean of each channel differs by at most 16 of 255. Whole images that correlate below 0.45 are not
// compared further.
//
// A copy differs no more than compression, resampling and a crop between two pixels explain:
//   - the mean of each channel differs by at most 4
//   - the smooth parts differ by at most 3 on average
//   - the details differ by a deviation of at most 8.5, or of at most 25 % of their own
// Images without detail (deviation below 1) are copies if no value differs by more than 2.
//
// It does not find rotations, crops of less than 85 % of a side, and added borders or text over much of the image. Two video frames of one
// scene that differ by less than about a pixel of 40 count as one image.
#pragma once

#include "debias/image/image.h"

namespace debias {

enum class Likeness { kNone, kLookAlike, kCopy };  // in order

// An image at 40 x 40, prepared for comparison.
class CopyThumbnail {
 public:
  explicit CopyThumbnail(const Image& image);

  Likeness likeness(const CopyThumbnail& other) const;  // the highest over the comparisons

 private:
  Image image_;
};

}  // namespace debias
