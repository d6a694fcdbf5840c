// The corruptions of CIFAR-10-C, for 32x32 images: nineteen kinds of damage at five severities.
//
// Source: Hendrycks and Dietterich, "Benchmarking neural network robustness to common corruptions and perturbations" (2019), the released
// make_cifar_c.py, whose constants and border rules are followed. Departures: coordinates are not rounded to 1/32 of a pixel (elastic),
// and draws come from this project's generator, so that an image equals a published one only in distribution.
#pragma once

#include <string>
#include <vector>

#include "debias/core/philox.h"
#include "debias/data/builders/corruptions/frost_textures.h"
#include "debias/data/builders/corruptions/plane.h"
#include "debias/image/image.h"

namespace debias {

struct Corruption {
  std::string name;
  std::vector<std::string> aliases;  // the names in the released code, where they differ
  Planes (*apply)(const Planes& image, int severity, Random& random, const FrostTextures& frost);
};

// gaussian_noise shot_noise impulse_noise speckle_noise gaussian_blur glass_blur defocus_blur motion_blur zoom_blur snow frost fog
// brightness contrast spatter saturate jpeg pixelate elastic, and `original`, which changes nothing.
const std::vector<Corruption>& corruption_registry();

constexpr int kCorruptionSide = 32;

// A 32x32 RGB image (anything else is a usage error), `severity` 1 to 5; every draw comes from `random`.
Image corrupted(const Image& image, const Corruption& corruption, int severity, Random& random, const FrostTextures& frost);

}  // namespace debias
