// Images to PNG bytes (8-bit grey or RGB).
#pragma once

#include <cstdint>
#include <vector>

#include "debias/image/image.h"

namespace debias {

// 1 or 3 channels; a usage error for an image without pixels or with other channels.
std::vector<uint8_t> encode_png(const Image& image);

// Images to the bytes of an animated GIF.

// RGB images of one size, each shown for `hundredths` of a second (at least 2, below which players slow down), over and over. One palette
// of 255 colours for all of them (median cut of their colours in 15 bits); what an image has in common with the one before it is left
// transparent. A usage error without images, and for images that are grey or of several sizes.
std::vector<uint8_t> encode_gif(const std::vector<Image>& pictures, int64_t hundredths);

// Images side by side.

// Cells of the largest image's size on mid-grey, two pixels apart; images of one or three channels keep their size. `rows`: at least one,
// all of one length. A usage error where the sheet would have more than kLargestImage pixels.
Image contact_sheet(const std::vector<std::vector<Image>>& rows);

}  // namespace debias
