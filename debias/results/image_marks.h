// Right or wrong, image by image, so that two runs can be compared on the same images: a string of an evaluation file, a letter for each
// image of the evaluated set, in its order.
//
//   A a   aligned, predicted right, wrong          R r   of neither side, right, wrong
//   C c   conflicting, right, wrong                .     of unknown class
#pragma once

#include <cstdint>
#include <string>

namespace debias {

enum class MarkedImages { kAll, kAligned, kConflicting };  // of known class

// Numbers of images that two runs predict equally and differently.
struct PairedCounts {
  int64_t both = 0, only_first = 0, only_second = 0, neither = 0;  // predicted right by

  int64_t images() const { return both + only_first + only_second + neither; }
  double first() const;  // shares of images predicted right; NaN without images
  double second() const;
};

// Throws a data error, naming `path`, for any other letter.
void require_marks(const std::string& marks, const std::string& path);

// True if they can be of the same images: as many, and each of the same side.
bool are_of_one_set(const std::string& a, const std::string& b);

// Over the images of strings that are of one set.
PairedCounts paired_counts(const std::string& a, const std::string& b, MarkedImages images);

}  // namespace debias
