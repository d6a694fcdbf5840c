// Finds pairs of rows that show one image: the same pixels except for compression, a crop, a flip or another size.
//
// Of photographs, images that look alike are nearly always copies too, with another brightness or crop. In drawn or staged images, and in
// frames of a video, many look alike that are none. Pairs that look alike therefore count as copies only if they are rare: if at most
// kRareLookAlikes of the compared images are in one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "debias/core/progress.h"
#include "debias/image/image.h"
#include "debias/mining/mined_pairs.h"

namespace debias {

constexpr double kRareLookAlikes = 0.02;  // of the images

// The image of row a (`of_second` false) or b (true); throws a data error if it cannot be read.
using ReadPairImage = std::function<Image(int64_t row, bool of_second)>;

struct ConfirmedCopies {
  std::vector<MinedPair> pairs;  // in the order of the candidates
  int64_t look_alike = 0;        // pairs that look alike and do not count as copies
  std::vector<int64_t> flat;     // rows whose image has no detail, each once; rows of the second split are negative: -1 - row
  int64_t unreadable = 0;        // images that could not be read; their pairs are left out
  std::string first_unreadable;  // error of that image
};

// `candidates` may have any order. Each image is read once, on all cores. Memory: 5 KB per image.
ConfirmedCopies confirm_copies(const std::vector<MinedPair>& candidates, const ReadPairImage& read, Progress& progress);

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
// Images without detail (deviation below 1: one colour, blank) are copies of nothing.
//
// It does not find rotations, crops of less than 85 % of a side, and added borders or text over much of the image. Two video frames of one
// scene that differ by less than about a pixel of 40 count as one image.
enum class Likeness { kNone, kLookAlike, kCopy };  // in order

// An image at 40 x 40, prepared for comparison.
class CopyThumbnail {
 public:
  explicit CopyThumbnail(const Image& image);

  Likeness likeness(const CopyThumbnail& other) const;  // the highest over the comparisons
  bool is_flat() const;                                 // without detail

 private:
  Image image_;
};

}  // namespace debias
