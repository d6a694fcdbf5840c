// Printing inks to light, as Pillow converts them.
#pragma once

#include <algorithm>
#include <cstdint>

namespace debias {

// A channel of RGB from the ink that takes it away and what black leaves (255 - K): white - ink * white / 255, the product rounded as in
// Pillow's MULDIV255.
inline uint8_t light_of_ink(int ink, int white) {
  const int product = ink * white + 128;
  return static_cast<uint8_t>(std::max(0, white - (((product >> 8) + product) >> 8)));
}

}  // namespace debias
