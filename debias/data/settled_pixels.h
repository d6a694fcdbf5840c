// How images become pixels, decided by the training images and then the same for whatever is compared with them.
#pragma once

#include <string>
#include <vector>

#include "debias/data/dataset_registry.h"

namespace debias {

// The options of image_folder on pixels (transparency, bits, window) that words key=value give; `who` begins the usage error for others, which
// names `also` before them.
Config pixel_options(const std::vector<std::string>& words, const std::string& who, const std::string& also = "");

// With `bits: auto` of a folder of images as the number that these need; all else as it is.
ChosenData with_settled_bits(const ChosenData& train);

// `evaluated` with the training section's options of pixels (transparency, bits, window), where both are folders of images and its own section gives none.
ChosenData with_pixels_of(const ChosenData& train, const ChosenData& evaluated);

}  // namespace debias
