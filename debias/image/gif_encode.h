// Pictures to the bytes of an animated GIF.
#pragma once

#include <cstdint>
#include <vector>

#include "debias/image/image.h"

namespace debias {

// RGB pictures of one size, each shown for `hundredths` of a second (at least 2, below which players slow down), over and over. One palette
// of 255 colours for all of them (median cut of their colours in 15 bits); what a picture has in common with the one before it is left
// transparent. A usage error without pictures, and for pictures that are grey or of several sizes.
std::vector<uint8_t> encode_gif(const std::vector<Image>& pictures, int64_t hundredths);

}  // namespace debias
