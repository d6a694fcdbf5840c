// Images to the bytes of an animated GIF.
#pragma once

#include <cstdint>
#include <vector>

#include "debias/image/image.h"

namespace debias {

// RGB images of one size, each shown for `hundredths` of a second (at least 2, below which players slow down), over and over. One palette
// of 255 colours for all of them (median cut of their colours in 15 bits); what an image has in common with the one before it is left
// transparent. A usage error without images, and for images that are grey or of several sizes.
std::vector<uint8_t> encode_gif(const std::vector<Image>& pictures, int64_t hundredths);

}  // namespace debias
