// Finds pairs of rows that show one image: the same pixels except for compression, a crop, a flip or another size.
//
// Of photographs, images that look alike are nearly always copies too, with another brightness or crop. In drawn or staged images, and in
// frames of a video, many look alike that are none. Pairs that look alike therefore count as copies only if they are rare: if at most
// kRareLookAlikes of the compared images are in one (copy_groups.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "debias/core/progress.h"
#include "debias/image/image.h"

namespace debias {

constexpr double kRareLookAlikes = 0.02;  // of the images

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
  const Image& image() const { return image_; }         // at 40 x 40

 private:
  Image image_;
};

using RowPair = std::pair<int64_t, int64_t>;
using ReadRowImage = std::function<Image(int64_t row)>;  // throws a data error if it cannot be read; thread-safe

// Compares images of rows, on all cores. Every image is read once; where there are more than `kept`, those that need a closer look once more
// for each block of pairs. Memory: 1 KB per image, and 5 KB for each of `kept`.
class ImageComparison {
 public:
  explicit ImageComparison(ReadRowImage read, size_t kept = 8192);
  ~ImageComparison();

  // kNone where an image cannot be read or has no detail. Pairs in the order of their first rows are read in fewer blocks.
  std::vector<Likeness> compare(const std::vector<RowPair>& pairs, Progress& progress);

  bool comparable(int64_t row) const;                         // false for a row that was read and has no detail, or could not be read
  int64_t images() const;                                     // number read
  const std::vector<int64_t>& flat() const { return flat_; }  // rows without detail, in the order of their reading
  const std::vector<int64_t>& unreadable() const { return unreadable_; }
  const std::string& first_unreadable() const { return first_unreadable_; }  // error

 private:
  struct Glance;  // the whole image, by which most pairs are told apart
  const Glance& glance(int64_t row) const;
  void read_images(const std::vector<int64_t>& rows, Progress& progress);
  std::vector<Likeness> looked_at(const std::vector<RowPair>& pairs, Progress& progress);

  ReadRowImage read_;
  size_t kept_;
  std::vector<Glance> glances_;  // in the order of their reading
  std::unordered_map<int64_t, size_t> places_;
  std::unordered_map<int64_t, CopyThumbnail> thumbnails_;
  std::vector<int64_t> flat_, unreadable_;
  std::string first_unreadable_;
};

}  // namespace debias
