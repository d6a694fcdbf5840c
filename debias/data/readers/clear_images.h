// Images that lose their content with their transparency: lines of one colour on a clear ground.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/image/image_decode.h"

namespace debias {

struct LostContent {
  int64_t looked = 0, lost = 0;               // images
  std::string first = {};                     // of the lost ones
  Transparency shows = Transparency::kWhite;  // what lets the first be seen
};

// Of images with transparency, by their paths below the root: at first of a few of them, evenly spaced, and of all (2,048 at most) only if
// one of these is of one colour. Those that cannot be read have lost nothing.
LostContent lost_content(const std::string& root, const std::vector<std::string>& images, const ImageReading& reading);

}  // namespace debias
