// Finds pairs of rows that show one image: the same pixels except for compression, a crop, a flip or another size (copy_thumbnail.h).
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
  int64_t unreadable = 0;        // images that could not be read; their pairs are left out
  std::string first_unreadable;  // error of that image
};

// `candidates` may have any order. Each image is read once, on all cores. Memory: 5 KB per image.
ConfirmedCopies confirm_copies(const std::vector<MinedPair>& candidates, const ReadPairImage& read, Progress& progress);

}  // namespace debias
