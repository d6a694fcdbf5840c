// Turns of the stored pixels that show a photograph upright: the eight values of the tag Orientation of TIFF and EXIF.
#pragma once

#include <cstdint>

#include "debias/image/image_region.h"
#include "debias/image/partial_image.h"

namespace debias {

// The shown pixel (y, x) is the stored one (y, x), or (x, y) where transposed, counted from the end along each flipped direction.
struct Orientation {
  bool transposed = false;
  bool rows_flipped = false;     // of the stored image
  bool columns_flipped = false;  // of the stored image

  bool upright() const { return !transposed && !rows_flipped && !columns_flipped; }
};

Orientation orientation_of(int64_t tag);  // 1 to 8; upright for every other value

// The part as it is shown: pixels, region and sizes.
PartialImage turned(PartialImage part, const Orientation& orientation);

// Part of the stored image to decode, so that turned() of it has the part of the shown one that `choose` requests. If the image is reduced
// and a flipped side is not a multiple of the denominator, the pixels of the reduced image are those of the stored one: they are less than
// one pixel beside their place without the flip.
RegionChooser of_stored(const RegionChooser& choose, const Orientation& orientation);

}  // namespace debias
