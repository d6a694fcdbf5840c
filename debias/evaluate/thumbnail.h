// Small copies of images, to be shown in a report.
#pragma once

#include "debias/image/image.h"

namespace debias {

// The pixels as they are, or shrunk (geometry.h) so that the longer side has `longest` pixels.
Image thumbnail(const Image& image, int longest = 64);

}  // namespace debias
