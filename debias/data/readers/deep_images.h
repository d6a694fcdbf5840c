// Images whose samples are stored in 16 bits, and how many of the bits they use: X-rays and microscopes fill 10 to 14.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/core/enum_names.h"
#include "debias/data/readers/image_files.h"

namespace debias {

enum class SampleBits { kAuto, k8, k10, k12, k14, k16 };
constexpr auto enum_words(SampleBits) { return named("auto", "8", "10", "12", "14", "16"); }

int bits_of(SampleBits bits);                // 0: auto
SampleBits needed_bits(int largest_sample);  // the fewest that hold it

// The paths of files, below the root, by what their starts say of their pixels. Of more than 1,000 files that may be special by their names
// so many are looked at first, evenly spaced, and the others only if one of these is.
struct LookedFiles {
  std::vector<std::string> deep;   // samples of 16 bits
  std::vector<std::string> clear;  // with transparency
  std::vector<std::string> more;   // with further images
};
LookedFiles look_at_files(const std::string& root, const std::vector<ImageFile>& files);

// The largest samples of images, of at most kMostLooked of them, evenly spaced. Decodes them on all cores; no more of them once one needs
// every bit. Images that cannot be read have none.
constexpr int64_t kMostLooked = 2048;

struct LargestSamples {
  int largest = 0;
  int64_t looked = 0;      // images
  int64_t above = 0;       // images with a sample above the limit that was asked for
  std::string first = {};  // of these
  int first_largest = 0;
};

// `bits`: those that samples should fit in.
LargestSamples largest_samples(const std::string& root, const std::vector<std::string>& images, int bits = 16);

}  // namespace debias
