// Single operations on 8-bit images with given arguments, no randomness: what the random view steps are made of.
//
//   resize {size: 32 (short side) | [h, w]} · crop {top, left, height, width} · resized_crop {top, left, height, width, size} ·
//   center_crop {size} · pad {padding} (black) · hflip {} · brightness | contrast | saturation {factor >= 0} · hue {factor in [-0.5, 0.5]
//   turns} · grayscale {} · gaussian_blur {kernel, sigma} · rotate {degrees} (counter-clockwise, nearest, black) · rgb_to_lab {} ·
//   rgb_to_ycbcr {}
//
// Semantics: torchvision.transforms.functional on PIL images, that is Pillow's arithmetic. rgb_to_lab: sRGB to CIE L*a*b* (D65, 2 degrees),
// stored as round(2.55 L), round(a + 128), round(b + 128). rgb_to_ycbcr: BT.601, rounded.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/options.h"
#include "debias/image/image.h"

namespace debias {

struct FixedStepEntry {
  std::string name;
  std::vector<std::string> aliases;
  std::string summary;
  std::vector<OptionSpec> options;
  std::function<std::function<void(Image&)>(const Config& options)> make;  // usage errors on options; the step's own on images
};

const std::vector<FixedStepEntry>& fixed_step_registry();

// A step written as in a recipe: a bare name or a map of one name to its options. `what` names it in messages.
std::function<void(Image&)> fixed_step(const Config& item, const std::string& what);

}  // namespace debias
