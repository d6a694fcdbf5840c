#pragma once

#include "debias/augment/step_options.h"
#include "debias/core/philox.h"
#include "debias/image/image.h"

namespace debias {

// The box of torchvision's RandomResizedCrop.

// Up to ten tries of area H W U(scale) and log-uniform aspect w/h in `ratio`, sides rounded half to even; then the largest centred box
// whose aspect is in `ratio`. Source: torchvision.transforms.RandomResizedCrop.get_params.
Box random_resized_box(int image_height, int image_width, const Interval& scale, const Interval& ratio, Random& random);

}  // namespace debias
